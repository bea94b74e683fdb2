import { type Clock, within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults } from '../kernel/limits.js'
import { Stopping } from '../kernel/stopping.js'
import { childKey, derivedKey } from './downstream-key.js'
import { codeOf } from './name.js'
import { type Jsonified, jsonified } from './plain.js'
import type { Progress } from './progress.js'
import type { StoredRecord } from './record.js'
import type { Scope } from './scope.js'
import type { Called, CallOptions, ResultNeed, Work } from './work.js'

/** What was found out about an open call. */
export type Looked =
  | { readonly kind: 'landed'; readonly result: unknown }
  | { readonly kind: 'not_landed' }
  /** The provider cannot say yet, or the code that asks it has failed on its way there. */
  | { readonly kind: 'not_yet'; readonly errorCode?: string }
  /** The provider did not answer: an outage, which says nothing of this call. */
  | { readonly kind: 'outage'; readonly errorCode: string }
  /** Nobody can be asked: there is no lookup, or the code does not come by the call. */
  | { readonly kind: 'nobody'; readonly errorCode?: string }

/**
 * A work for finding out. An operation that is run with it comes by its phases as far as they are on record, each giving its
 * stored result, up to the call that is open: there its `lookup` is asked, and nothing goes on. No phase runs and nothing is
 * written, however often this is done.
 */
export class Lookup<Tx> implements Work<Tx> {
  readonly scope: Scope
  readonly generation: number
  readonly attempt: number
  readonly recoveryPoint: string
  readonly #record: StoredRecord
  readonly #progress: Progress
  readonly #clock: Clock
  readonly #over = new Stopping()
  #walked = 0
  #looked: Looked = { kind: 'nobody' }
  readonly #said: Said | undefined
  #accepted = true

  /** With `said`, what somebody says that the call returned, nobody is asked: whether the handler accepts it is found out. */
  constructor(record: StoredRecord, progress: Progress, clock: Clock, said?: Said) {
    this.#said = said
    this.scope = record.scope
    this.generation = record.generation
    this.attempt = record.attempt
    this.recoveryPoint = record.recoveryPoint
    this.#record = record
    this.#progress = progress
    this.#clock = clock
  }

  get looked(): Looked {
    return this.#looked
  }

  /** What nobody judges is accepted: the code has no opinion, or does not come by the call. */
  get accepted(): boolean {
    return this.#accepted
  }

  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** The operation has failed. What it says before it comes by the call is no word about the call. */
  failed(error: unknown): void {
    if (this.#looked.kind === 'nobody' && !this.#over.isStopped)
      this.#looked = { kind: 'not_yet', errorCode: codeOf(error) }
  }

  transaction: Work<Tx>['transaction'] = async <T>(name: string) => this.#stored(name) as Jsonified<T>

  call: Work<Tx>['call'] = async <T, I, R extends ResultNeed>(
    name: string,
    { lookup, accepts }: CallOptions<T, I, R>,
  ): Promise<Called<T, R>> => {
    if (this.#progress.phases[this.#walked] !== undefined) return this.#stored(name) as Called<T, R>
    const open = this.#progress.call
    if (this.#said !== undefined) {
      if (open?.name === name && accepts !== undefined) this.#accepted = judged(accepts, this.#said.result)
    } else if (open?.name === name && lookup !== undefined && !this.#over.isStopped) {
      const input = open.input as Jsonified<I>
      const timeoutMs = Math.min(open.timeoutMs, defaults.lookTimeoutMs)
      const late = () => new HapaxError('call_timeout', `lookup of "${name}" did not end within ${timeoutMs} ms.`)
      const asked = Promise.resolve().then(() => lookup({ key: open.key, input }))
      this.#looked = await within(this.#clock, timeoutMs, asked, late).then(
        (said) => saidOf(said, name),
        (error: unknown) => ({ kind: 'outage', errorCode: codeOf(error) }) as const,
      )
    }
    throw this.#end()
  }

  commit: Work<Tx>['commit'] = async () => {
    throw this.#end()
  }

  effect: Work<Tx>['effect'] = () => {
    throw this.#end()
  }

  downstreamKey: Work<Tx>['downstreamKey'] = async (name) => derivedKey('call', this.#record, name)
  childKey: Work<Tx>['childKey'] = (name) => childKey(this.#record, name)
  extend: Work<Tx>['extend'] = async () => {}
  doubt: Work<Tx>['doubt'] = () => {}

  #stored(name: string): unknown {
    const known = this.#progress.phases[this.#walked]
    if (known?.name !== name) throw this.#end()
    this.#walked++
    return known.result
  }

  /** Nothing is on record from here on. */
  #end(): HapaxError {
    const end = new HapaxError('outcome_unknown', 'This run only finds out what became of a call.')
    this.#over.stop(end)
    return end
  }
}

/** What somebody says that a call returned. */
export interface Said {
  readonly result: unknown
}

/** Who stumbles over a result cannot use it either. */
function judged(accepts: (result: unknown) => boolean, result: unknown): boolean {
  try {
    return accepts(result)
  } catch {
    return false
  }
}

function saidOf(said: unknown, name: string): Looked {
  if (said === undefined) return { kind: 'not_yet' }
  const { landed, result } = (said ?? {}) as { readonly landed?: unknown; readonly result?: unknown }
  if (landed === true) return { kind: 'landed', result: jsonified(result, `result of lookup "${name}"`) }
  return landed === false ? { kind: 'not_landed' } : { kind: 'not_yet' }
}
