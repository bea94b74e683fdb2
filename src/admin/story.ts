import type { Progress } from '../engine/progress.js'
import { finished, type StoredRecord } from '../engine/record.js'
import { abandoned } from '../engine/transitions.js'
import { aboutSaid, coded, doneByPeople, reasonOf } from './sentences.js'
import type { Tally } from './tallies.js'
import type { AuditView, CallView, DoubtView, EffectView, RecordView, SaidView } from './views.js'

/** All that is known of one record, as data and as sentences. */
export interface Story {
  readonly record: RecordView
  readonly answer?: {
    readonly status: number
    readonly bytes: number
    readonly kept: boolean
    readonly headers: unknown
  }
  /** How often a handler was let run in this generation: for the first time, and for the last. */
  readonly reservations: { readonly count: number; readonly first_at: string; readonly last_at: string }
  /**
   * The phases that have committed, in order; `unreadable` where they are sealed with a key that is not here, `not_kept` once
   * it was answered: what a resume would need goes with the answer.
   */
  readonly phases: readonly string[] | 'unreadable' | 'not_kept'
  readonly calls: readonly CallView[]
  readonly effects: readonly EffectView[]
  readonly evidence: readonly SaidView[]
  /** The doubts of this generation: by a crash that was swept, a call without an answer, a handler's own word. */
  readonly doubts: readonly DoubtView[]
  /** In doubt, and its provider did not answer this node: until then it is not asked. Other nodes ask by themselves. */
  readonly reconciler_paused_until?: string
  /**
   * Counted by the process that was asked, since it began to listen, and absent where no request comes to it. A replay writes
   * nothing, so that nobody else knows.
   */
  readonly counts: Tally | undefined
  readonly operator_actions: readonly AuditView[]
  readonly sentences: readonly string[]
}

export function sentencesOf(
  story: Omit<Story, 'sentences'>,
  stored: StoredRecord,
  progress: Progress | undefined,
): string[] {
  const { record, phases, calls, effects, evidence, doubts, counts, operator_actions } = story
  const said: string[] = []
  said.push(
    `${record.scope} used this key for ${record.operation} at ${record.created_at}${record.generation > 1 ? `, in its ${ordinal(record.generation)} generation: it had expired, or was purged, before` : ''}.`,
  )
  if (record.attempt > 1)
    said.push(`It was claimed ${record.attempt} times; the last run began at ${record.last_run_at}.`)
  said.push(...aboutPhases(phases))
  for (const call of calls) said.push(...aboutCall(call))
  for (const effect of effects)
    said.push(`The effect ${effect.id} (${effect.kind}) is ${effect.state}${coded(effect.error_code)}.`)
  said.push(...doubts.flatMap(aboutDoubt))
  said.push(...standing(record, stored, progress))
  if (story.reconciler_paused_until !== undefined)
    said.push(
      `The provider of ${record.operation} did not answer this node when it was asked, and is left alone until ${story.reconciler_paused_until}.`,
    )
  // What ended a doubt was told with it.
  const told = doubts.map(({ ended }) => ended?.at)
  said.push(...evidence.filter(({ at }) => !told.includes(at)).map(aboutSaid))
  said.push(...operator_actions.map(doneByPeople))
  said.push(counts === undefined ? uncounted : counted(counts))
  return said
}

export function phasesOf(
  { recoveryPoint }: StoredRecord,
  progress: Progress | 'unreadable' | undefined,
): Story['phases'] {
  if (progress === 'unreadable') return progress
  if (progress === undefined && recoveryPoint === finished) return 'not_kept'
  return (progress?.phases ?? []).map(({ name }) => name)
}

function aboutPhases(phases: Story['phases']): readonly string[] {
  if (phases === 'unreadable') return ['How far it is cannot be read here: it is sealed with a key that is elsewhere.']
  if (phases === 'not_kept')
    return ['Which phases it went through is not kept once it is answered; its calls and effects are.']
  return phases.length === 0 ? [] : [`These phases have committed: ${phases.join(', ')}.`]
}

/** A doubt that is over. The open one is told by how the record stands. */
function aboutDoubt({ since, error_code, fence, looks, ended }: DoubtView): readonly string[] {
  if (ended === undefined) return []
  const looked = looks === 0 ? '' : `, and was looked at ${looks === 1 ? 'once' : `${looks} times`} in vain`
  return [
    `It was in doubt from ${since} until ${ended.at}${looked}: ${reasonOf(error_code)}. That was its claim ${fence}.`,
    aboutSaid(ended),
  ]
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
      ? withoutCall(record, errorCode)
      : `Ask the provider about ${call.key}, then settle it: landed${call.needsResult === false ? '' : ' with what the call returned'}, not_landed, or completed with the answer.`
  return [`Nobody knows since ${record.doubted_at} whether it took effect: ${reasonOf(errorCode)}.`, next, advice]
}

/** What is abandoned is on record as far as it went, so that it can go on from there; of any other doubt nobody knows how far. */
function withoutCall({ recovery_point }: RecordView, errorCode: string): string {
  if (errorCode !== abandoned)
    return 'Find out whether it took effect, then settle it: not_landed lets a retry run, completed gives its answer.'
  return `What has committed stays. Settle it: not_landed lets it go on from "${recovery_point}", an operation by itself and any other with its next retry; completed gives its answer, if you have finished or undone it by hand.`
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

const uncounted =
  'How often its key came back is not seen from here, where no request comes in: ask the admin URL of an application that serves.'

function ordinal(n: number): string {
  return n === 2 ? '2nd' : n === 3 ? '3rd' : `${n}th`
}
