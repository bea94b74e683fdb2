/**
 * The states of a record and every way from one to another, as one table. Whoever changes a record asks
 * `nextState`; nothing else knows what may follow what.
 */

export const states = ['in_progress', 'completed', 'failed_retryable', 'unknown', 'expired'] as const

export type State = (typeof states)[number]

/** What can happen to a record. */
export type Happening =
  | 'reserve'
  | 'resume'
  | 'renew'
  | 'checkpoint'
  | 'complete'
  | 'release'
  | 'release_attempt'
  | 'release_generation'
  | 'fail'
  | 'doubt'
  | 'sweep'
  | 'abandon'
  | 'settle_completed'
  | 'settle_landed'
  | 'settle_not_landed'
  | 'bury'
  | 'purge'
  | 'delete'

export interface Transition {
  readonly from: State | 'none'
  readonly on: Happening
  readonly to: State | 'none'
  readonly by: 'request' | 'holder' | 'sweeper' | 'evidence' | 'reaper' | 'operator'
  /** What must hold besides the state, in words; the check itself stands in `transitions.ts`. */
  readonly when?: string
}

export const stateTable: readonly Transition[] = [
  { from: 'none', on: 'reserve', to: 'in_progress', by: 'request' },
  {
    from: 'expired',
    on: 'reserve',
    to: 'in_progress',
    by: 'request',
    when: 'the policy lets an expired key run as new',
  },
  { from: 'in_progress', on: 'renew', to: 'in_progress', by: 'holder', when: 'the fence matches' },
  { from: 'in_progress', on: 'checkpoint', to: 'in_progress', by: 'holder', when: 'the fence matches' },
  { from: 'in_progress', on: 'complete', to: 'completed', by: 'holder', when: 'the fence matches' },
  {
    from: 'in_progress',
    on: 'release',
    to: 'none',
    by: 'holder',
    when: 'the fence matches, nothing has run, and the key was never used before',
  },
  {
    from: 'in_progress',
    on: 'release_attempt',
    to: 'failed_retryable',
    by: 'holder',
    when: 'the fence matches, nothing has run, and an earlier attempt had failed',
  },
  {
    from: 'in_progress',
    on: 'release_generation',
    to: 'expired',
    by: 'holder',
    when: 'the fence matches, nothing has run, and the key had expired before',
  },
  { from: 'in_progress', on: 'fail', to: 'failed_retryable', by: 'holder', when: 'the fence matches' },
  { from: 'in_progress', on: 'doubt', to: 'unknown', by: 'holder', when: 'the fence matches' },
  {
    from: 'in_progress',
    on: 'resume',
    to: 'in_progress',
    by: 'request',
    when: 'the lease is over and the interrupted phase may run again',
  },
  {
    from: 'in_progress',
    on: 'sweep',
    to: 'unknown',
    by: 'sweeper',
    when: 'the lease is over and the interrupted phase may not run again',
  },
  {
    from: 'in_progress',
    on: 'abandon',
    to: 'unknown',
    by: 'reaper',
    when: 'retention passed, the lease is over, the interrupted phase may run again, and nobody goes on with it by himself',
  },
  {
    from: 'unknown',
    on: 'complete',
    to: 'completed',
    by: 'holder',
    when: 'the fence is the last one: the holder was only slow',
  },
  { from: 'failed_retryable', on: 'resume', to: 'in_progress', by: 'request', when: 'the fingerprint is the same' },
  { from: 'unknown', on: 'settle_completed', to: 'completed', by: 'evidence' },
  { from: 'unknown', on: 'settle_landed', to: 'failed_retryable', by: 'evidence' },
  { from: 'unknown', on: 'settle_not_landed', to: 'failed_retryable', by: 'evidence' },
  { from: 'completed', on: 'bury', to: 'expired', by: 'reaper', when: 'retention passed' },
  {
    from: 'failed_retryable',
    on: 'bury',
    to: 'expired',
    by: 'reaper',
    when: 'retention passed, nothing committed and nothing begun',
  },
  {
    from: 'failed_retryable',
    on: 'abandon',
    to: 'unknown',
    by: 'reaper',
    when: 'retention passed, something committed or begun, and nobody goes on with it by himself',
  },
  {
    from: 'completed',
    on: 'purge',
    to: 'expired',
    by: 'operator',
    when: 'its effects are final',
  },
  { from: 'expired', on: 'delete', to: 'none', by: 'reaper', when: 'the tombstone has stood its time' },
]

const targets = new Map<State | 'none', Map<Happening, State | 'none'>>()
for (const { from, on, to } of stateTable) targets.set(from, (targets.get(from) ?? new Map()).set(on, to))

/** Where a happening leads, or `undefined` when it may not happen in this state. */
export function nextState(from: State | 'none', on: Happening): State | 'none' | undefined {
  return targets.get(from)?.get(on)
}
