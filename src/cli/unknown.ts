import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { LetterQuery } from '../admin/effect-desk.js'
import { answerIn } from '../admin/given-answer.js'
import type { Listed } from '../admin/paging.js'
import { isRefused } from '../admin/refused.js'
import type { AuditView } from '../admin/views.js'
import type { EffectWord } from '../effects/judging.js'
import type { Word } from '../engine/operating.js'
import { scopeOf } from '../engine/scope.js'
import { confirmedChange } from './confirm.js'
import { actorOf, atDesk, type Desk, type DeskFlags, deskCommand, writing } from './desk.js'
import { effectsText, effectText } from './effect-text.js'
import { notConfirmedHelp } from './exit.js'
import { recordsText, storyText } from './keys.js'
import { filledPage } from './pages.js'
import { usage, wholeOf } from './usage.js'

const examples = `
Examples:
  hapax unknown list http://localhost:3000/admin                  what nobody knows
  hapax keys show http://localhost:3000/admin acme order-41       why
  hapax unknown settle http://localhost:3000/admin acme order-41 --not-landed \\
      --evidence "no charge in the dashboard" --why "customer asks"
  hapax unknown settle … --landed --result '{"status":"succeeded","id":"ch_1"}' --evidence "ch_1 in the dashboard" --why …
  hapax unknown settle … --completed answer.json --evidence … --why …
  hapax unknown settle ./dist/hapax.js --effect 41 --not-landed --evidence "no mail in the log" --why …   the doubt about an effect
  hapax unknown reconcile ./dist/hapax.js --why "the provider is back"   ask about all whose time has come
  hapax unknown reconcile http://localhost:3000/admin acme order-41 --why …   and one, whenever its time comes
  hapax unknown reconcile http://localhost:3000/admin --effect 41 --why …     the same of an effect

There is no way to just run it again: what nobody knows may have happened. Not landed lets a retry run; landed lets it go on
behind the call, with what that returned; completed gives it its answer, { "status": 201, "headers": {}, "body": … }.
An effect that is settled goes on by itself; to settle one takes the code of the application: its module, or its admin URL.

Exit codes: 0 done, or listed; 1 there is none, it was refused, or it failed; 2 wrong usage;
${notConfirmedHelp}.`

interface SettleFlags extends DeskFlags {
  readonly landed?: boolean
  readonly notLanded?: boolean
  readonly completed?: string
  readonly result?: string
  readonly effect?: string
  readonly evidence: string
}

interface ReconcileFlags extends DeskFlags {
  readonly effect?: string
}

interface ListFlags extends DeskFlags {
  readonly tenant?: string
  readonly effectsAfter?: string
  readonly limit?: string
  readonly after?: string
}

/** `hapax unknown list | settle | reconcile` */
export function addUnknown(program: Command): void {
  const unknown = program
    .command('unknown')
    .description('outcomes that nobody knows: list them, settle them by evidence, have them looked at')
    .addHelpText('after', examples)
  deskCommand(unknown, 'list', 'list what nobody knows, the oldest first')
    .option('--tenant <name>', 'in all scopes of this tenant')
    .option('--limit <count>', 'how many of each to a page (default: 50)')
    .option('--after <place>', 'the page of keys behind this one')
    .option('--effects-after <place>', 'the page of effects behind this one')
    .action((where: string, flags: ListFlags) => atDesk(where, flags, (desk) => list(desk, flags)))
  writing(deskCommand(unknown, 'settle', 'say what happened, and on what grounds'))
    .argument('[scope]', 'whose key it is')
    .argument('[key]', 'the key')
    .option('--effect <id>', 'the doubt about this effect, instead of that about a key')
    .requiredOption('--evidence <text>', 'on what grounds: what you have seen, and where')
    .option('--landed', 'the call took effect')
    .option('--not-landed', 'it did not')
    .option('--completed <file>', 'all of it took effect, and this is its answer: a JSON file, or - to read it here')
    .option('--result <json>', 'with --landed: what the call returned')
    .action((where: string, scope: string | undefined, key: string | undefined, flags: SettleFlags) => {
      const about = aboutOf(scope, key, flags)
      actorOf(flags)
      return atDesk(where, flags, (desk) =>
        about.kind === 'key'
          ? settle(desk, { scope: about.scope, key: about.key }, wordOf(flags), flags)
          : settleEffect(desk, about.id, effectWordOf(flags), flags),
      )
    })
  writing(deskCommand(unknown, 'reconcile', 'ask providers now, about one or about all whose time has come'))
    .argument('[scope]', 'whose key it is')
    .argument('[key]', 'the key')
    .option('--effect <id>', 'the doubt about this effect, instead of that about a key')
    .action((where: string, scope: string | undefined, key: string | undefined, flags: ReconcileFlags) => {
      const isAll = scope === undefined && flags.effect === undefined
      const about: About = isAll ? { kind: 'all' } : aboutOf(scope, key, flags)
      actorOf(flags)
      return atDesk(where, flags, (desk) => reconcile(desk, about, flags))
    })
}

type About =
  | { readonly kind: 'key'; readonly scope: string; readonly key: string }
  | { readonly kind: 'effect'; readonly id: number }
  | { readonly kind: 'all' }

function aboutOf(
  scope: string | undefined,
  key: string | undefined,
  { effect }: ReconcileFlags,
): Exclude<About, { kind: 'all' }> {
  if (effect !== undefined) {
    if (scope !== undefined) throw usage('Give a scope and a key, or --effect, not both.')
    return { kind: 'effect', id: wholeOf('--effect', effect) }
  }
  if (scope === undefined || key === undefined) throw usage('Say which: give a scope and a key, or --effect.')
  return { kind: 'key', scope, key }
}

async function list({ admin }: Desk, flags: ListFlags): Promise<void> {
  const found = await doubts(admin, flags)
  console.log(flags.json ? JSON.stringify(found) : doubtsText(found))
}

async function doubts(admin: Desk['admin'], { tenant, limit, after, effectsAfter }: ListFlags) {
  const size = limit === undefined ? {} : { limit: wholeOf('--limit', limit) }
  const page = await filledPage(admin.find, {
    state: 'unknown',
    order: 'oldest',
    ...size,
    ...(tenant !== undefined && { tenant: scopeOf(tenant) }),
    ...(after !== undefined && { after }),
  })
  const effects = await effectsInDoubt(admin, {
    ...size,
    ...(tenant !== undefined && { tenant }),
    ...(effectsAfter !== undefined && { after: effectsAfter }),
  })
  return { ...page, ...(effects && { effects }) }
}

function doubtsText({ effects = { items: [] }, ...page }: Awaited<ReturnType<typeof doubts>>): string {
  const isEmpty = ({ items, next }: Listed<unknown>) => items.length === 0 && next === undefined
  const records = isEmpty(page) ? [] : [recordsText(page.items, page.next)]
  const outbox = isEmpty(effects) ? [] : [effectsText(effects.items, effects.next)]
  const shown = [...records, ...outbox]
  return shown.length === 0 ? 'Nothing is unknown.' : shown.join('\n\n')
}

/** Not every store keeps effects. */
async function effectsInDoubt(admin: Desk['admin'], query: LetterQuery) {
  try {
    return await filledPage(admin.effects, { state: 'unknown', ...query })
  } catch (error) {
    if (isRefused(error) && error.code === 'unsupported') return undefined
    throw error
  }
}

async function settle(
  { admin }: Desk,
  name: { scope: string; key: string },
  word: Word,
  flags: SettleFlags,
): Promise<void> {
  await confirmedChange(flags, {
    shown: () => admin.story(name),
    shownText: (story) => `${storyText(story)}\n`,
    question: `Settle it as ${word.says}?`,
    act: () => admin.settle(name, word, actorOf(flags)),
    doneText: ({ record, audit }) => settledText(word, record, audit),
  })
}

async function settleEffect(desk: Desk, id: number, word: EffectWord, flags: SettleFlags): Promise<void> {
  if (desk.kind === 'here' && desk.open.kind === 'database')
    throw usage('To settle an effect takes the code of the application: give its module, or an admin URL.')
  const { admin } = desk
  await confirmedChange(flags, {
    shown: () => admin.effectStory(id),
    shownText: (story) => `${effectText(story)}\n`,
    question: `Settle it as ${word.says}?`,
    act: () => admin.settleEffect(id, word, actorOf(flags)),
    doneText: ({ effect, audit }) => settledText(word, effect, audit),
  })
}

function settledText({ says }: Word | EffectWord, { state }: { state: string }, [entry]: readonly AuditView[]): string {
  return `Settled as ${says}: it is ${state} now. Entry ${entry?.sequence} of the audit log.`
}

async function reconcile(desk: Desk, about: About, flags: ReconcileFlags): Promise<void> {
  if (desk.kind === 'here' && desk.open.kind === 'database')
    throw usage('To ask providers takes the code of the application: give its module, or an admin URL.')
  const { admin } = desk
  const by = actorOf(flags)
  const doneText = ({ came }: { readonly came: Readonly<Record<string, number>> }) => {
    const counts = Object.entries(came).map(([what, count]) => `${count} ${what.replaceAll('_', ' ')}`)
    return counts.length === 0 ? 'nothing to look at' : counts.join(', ')
  }
  switch (about.kind) {
    case 'key':
      await confirmedChange(flags, {
        shown: () => admin.story(about),
        shownText: (story) => `${storyText(story)}\n`,
        question: 'Look at it now?',
        act: () => admin.reconcile(by, { scope: about.scope, key: about.key }),
        doneText,
      })
      return
    case 'effect':
      await confirmedChange(flags, {
        shown: () => admin.effectStory(about.id),
        shownText: (story) => `${effectText(story)}\n`,
        question: 'Look at it now?',
        act: async () => ({ came: (await admin.reconcileEffect(about.id, by)).came }),
        doneText,
      })
      return
    case 'all':
      await confirmedChange(flags, {
        shown: () => doubts(admin, {}),
        shownText: (found) => `${doubtsText(found)}\n`,
        question: 'Look at all whose time has come?',
        act: () => admin.reconcile(by),
        doneText,
      })
  }
}

function wordOf({ landed, notLanded, completed, result, evidence }: SettleFlags): Word {
  const said = [landed, notLanded, completed].filter((one) => one !== undefined)
  if (said.length !== 1) throw usage('Say what happened: --landed, --not-landed, or --completed <file>.')
  if (evidence.trim() === '') throw usage('--evidence is empty; say what you have seen, and where.')
  if (result !== undefined && !landed) throw usage('--result goes with --landed.')
  if (notLanded) return { says: 'not_landed', evidence }
  if (landed) return { says: 'landed', evidence, ...(result !== undefined && { result: jsonIn('--result', result) }) }
  return { says: 'completed', evidence, answer: answerFrom(completed ?? '') }
}

function effectWordOf(flags: SettleFlags): EffectWord {
  const word = wordOf(flags)
  if (word.says === 'completed') throw usage('An effect has no answer: say --landed or --not-landed.')
  return word
}

/** What is no answer is wrong usage: nothing was asked of anybody yet. */
function answerFrom(file: string): Extract<Word, { says: 'completed' }>['answer'] {
  const given = jsonIn('--completed', readFileSync(file === '-' ? 0 : file, 'utf8'))
  try {
    return answerIn(given)
  } catch (error) {
    throw isRefused(error) ? usage(error.message) : error
  }
}

function jsonIn(flag: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usage(`${flag} is no JSON.`)
  }
}
