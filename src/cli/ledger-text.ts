import { agree, type Differences, type LedgerEntry, type LedgerReport } from '../workers/ledger.js'
import type { OurEntry } from '../workers/ledger-ours.js'
import { type Testified, testifiedIn } from './ledger-testimony.js'

/** Differences of one kind that are printed; --json has more. */
const shown = 20

/** A comparison for people. `testified`: what came of those that the ledger knows more about than we did. */
export function ledgerText(report: LedgerReport, testified: Testified | undefined): readonly string[] {
  const { compared, orphans, missing, open, contradicted, unconfirmed, pending, doubled } = report
  const settled =
    testified === undefined
      ? '--testify settles them'
      : `${testifiedIn(testified)} of ${open.count} testified: ${cameOf(testified)}`
  return [
    `compared ${compared.provider} keys of the provider with ${compared.ours} calls and effects of ours`,
    ...section('the provider has, and we know nothing of', orphans, theirLine),
    ...section('we hold as done, and the provider does not have', missing, ourLine),
    ...section(`the provider has, and we did not know (${settled})`, open, ({ ours }) => ourLine(ours)),
    ...section('the provider has, and we hold as not done', contradicted, ({ ours }) => ourLine(ours)),
    ...section('we do not know, and the provider does not have', unconfirmed, ourLine),
    ...section('the provider has twice', doubled, theirLine),
    ...section(
      'we do not know yet, and the provider does not have yet (no difference: younger than --settle)',
      pending,
      ourLine,
    ),
    ...missingResults(testified?.left_to_operator ?? 0),
    agree(report) ? 'Both sides agree.' : 'They do not agree.',
  ]
}

function cameOf(testified: Testified): string {
  const counts = Object.entries(testified).filter(([, count]) => count > 0)
  return counts.map(([what, count]) => `${count} ${what.replaceAll('_', ' ')}`).join(', ')
}

/** A ledger says that something was done, and not what the call returned. */
function missingResults(count: number): readonly string[] {
  if (count === 0) return []
  return [
    `${count} landed, and cannot go on by that alone: what the call returned is missing, and no lookup can be asked for it.`,
    "  Find it out, and say it: hapax.testify({ downstreamKey, says: 'landed', result, by, why }).",
  ]
}

function section<T>(what: string, { count, first }: Differences<T>, line: (one: T) => string): readonly string[] {
  if (count === 0) return []
  const more = count > shown ? [`  … and ${count - shown} more`] : []
  return [`${count} ${what}:`, ...first.slice(0, shown).map((one) => `  ${line(one)}`), ...more]
}

function theirLine({ key, id, amount, status, at }: LedgerEntry): string {
  const time = at === undefined ? undefined : new Date(at).toISOString()
  return [key, id, amount, status, time].filter((part) => part !== undefined).join('  ')
}

function ourLine({ key, of, scope, operation, name, state, at }: OurEntry): string {
  return [key, of, scope, operation, name, state, new Date(at).toISOString()].join('  ')
}
