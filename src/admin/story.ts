import type { Progress } from '../engine/progress.js'
import type { StoredRecord } from '../engine/record.js'
import { aboutSaid, coded, doneByPeople, reasonOf } from './sentences.js'
import type { Tally } from './tallies.js'
import type { AuditView, CallView, EffectView, RecordView, SaidView } from './views.js'

/** All that is known of one record, as data and as sentences. */
export interface Story {
  readonly record: RecordView
  readonly answer?: {
    readonly status: number
    readonly bytes: number
    readonly kept: boolean
    readonly headers: unknown
  }
  /** The phases that have committed, in order; `unreadable` where they are sealed with a key that is not here. */
  readonly phases: readonly string[] | 'unreadable'
  readonly calls: readonly CallView[]
  readonly effects: readonly EffectView[]
  readonly evidence: readonly SaidView[]
  /** Counted by the process that was asked, since it began to listen. A replay writes nothing, so that nobody else knows. */
  readonly counts: Tally | undefined
  readonly operator_actions: readonly AuditView[]
  readonly sentences: readonly string[]
}

export function sentencesOf(
  story: Omit<Story, 'sentences'>,
  stored: StoredRecord,
  progress: Progress | undefined,
): string[] {
  const { record, phases, calls, effects, evidence, counts, operator_actions } = story
  const said: string[] = []
  said.push(
    `${record.scope} used this key for ${record.operation} at ${record.created_at}${record.generation > 1 ? `, in its ${ordinal(record.generation)} generation: it had expired, or was purged, before` : ''}.`,
  )
  if (record.attempt > 1)
    said.push(`It was claimed ${record.attempt} times; the last run began at ${record.last_run_at}.`)
  if (phases !== 'unreadable' && phases.length > 0) said.push(`These phases have committed: ${phases.join(', ')}.`)
  if (phases === 'unreadable')
    said.push('How far it is cannot be read here: it is sealed with a key that is elsewhere.')
  for (const call of calls) said.push(...aboutCall(call))
  for (const effect of effects)
    said.push(`The effect ${effect.id} (${effect.kind}) is ${effect.state}${coded(effect.error_code)}.`)
  said.push(...standing(record, stored, progress))
  said.push(...evidence.map(aboutSaid))
  said.push(...operator_actions.map(doneByPeople))
  if (counts !== undefined) said.push(counted(counts))
  return said
}

function aboutCall({ phase, downstream_key, state, begun_at, said }: CallView): readonly string[] {
  const ended = {
    begun: 'and how it ended is not on record',
    landed: 'and it landed',
    not_landed: 'and it did not land',
  }[state]
  const call = `The call ${phase} was begun at ${begun_at} with the downstream key ${downstream_key}, ${ended}.`
  return [call, ...said.map((one) => `Of it ${aboutSaid(one)}`)]
}

function standing(record: RecordView, stored: StoredRecord, progress: Progress | undefined): readonly string[] {
  switch (record.state) {
    case 'in_progress':
      return [`It is running; its lease lasts until ${record.lease_until}.`]
    case 'completed':
      return [
        `It was answered with ${record.status} at ${record.completed_at}; a retry gets that answer ${record.expires_at === undefined ? 'for ever' : `until ${record.expires_at}`}.`,
      ]
    case 'failed_retryable':
      return [
        `It failed${coded(record.error_code)}: a retry goes on from "${record.recovery_point}".`,
        ...(record.looked_at_next === undefined ? [] : [`It goes on by itself at ${record.looked_at_next}.`]),
      ]
    case 'expired':
      return ['Its answer is gone: a retry runs as new, or is refused, as its route says.']
    case 'unknown':
      return doubt(record, stored, progress)
  }
}

function doubt(
  record: RecordView,
  { errorCode = 'unknown' }: StoredRecord,
  progress: Progress | undefined,
): readonly string[] {
  const next = record.left_to_operator
    ? 'Nobody but a person looks at it any more.'
    : `It is looked at again at ${record.looked_at_next}, and was ${record.looks} times before.`
  const call = progress?.call
  const advice =
    call === undefined
      ? 'Find out whether it took effect, then settle it: not_landed lets a retry run, completed gives its answer.'
      : `Ask the provider about ${call.key}, then settle it: landed${call.needsResult === false ? '' : ' with what the call returned'}, not_landed, or completed with the answer.`
  return [`Nobody knows since ${record.doubted_at} whether it took effect: ${reasonOf(errorCode)}.`, next, advice]
}

/** Of this process, since it began to listen: a replay writes nothing that others could count. */
function counted({ replays, conflicts, mismatches, met_unknown, since }: Tally): string {
  const came = [
    [replays, 'got its answer again'],
    [conflicts, 'found it running'],
    [met_unknown, 'found it in doubt'],
    [mismatches, 'asked for something else under its key, and were refused'],
  ] as const
  const said = came.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`)
  return `Of the requests that came back to this node since ${since}, ${said.length === 0 ? 'none was for it' : said.join(', ')}. Other nodes count their own.`
}

function ordinal(n: number): string {
  return n === 2 ? '2nd' : n === 3 ? '3rd' : `${n}th`
}
