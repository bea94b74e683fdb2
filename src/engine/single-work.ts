import type { Awaitable } from '../kernel/awaitable.js'
import { HapaxError } from '../kernel/errors.js'
import { Stopping } from '../kernel/stopping.js'
import type { CollectedEffects } from './collected-effects.js'
import { childKey, derivedKey } from './downstream-key.js'
import type { Answer } from './record.js'
import type { Scope } from './scope.js'
import type { SingleAttempt } from './store.js'
import type { Phase, Work } from './work.js'

export interface SingleGround<Tx> extends SingleAttempt<Tx> {
  readonly effects: CollectedEffects
  readonly toAnswer: (value: unknown) => Awaitable<Answer>
}

/**
 * What a handler holds where its whole request is one transaction: `commit` gives it the transaction and takes its answer.
 * It has no phases, and no call to the outside has a place in it: a database must not wait for a provider.
 */
export class SingleWork<Tx> implements Work<Tx> {
  readonly scope: Scope
  readonly generation: number
  readonly attempt: number
  readonly recoveryPoint: string
  readonly #ground: SingleGround<Tx>
  readonly #over = new Stopping()
  #answer: Promise<Answer> | undefined

  constructor(ground: SingleGround<Tx>) {
    this.scope = ground.claim.scope
    this.generation = ground.claim.generation
    this.attempt = ground.record.attempt
    this.recoveryPoint = ground.record.recoveryPoint
    this.#ground = ground
  }

  /** What was committed by `commit`; `undefined` when the handler has returned its answer. */
  answered(): Promise<Answer> | undefined {
    return this.#answer
  }

  end(reason: HapaxError): void {
    this.#over.stop(reason)
  }

  get signal(): AbortSignal {
    return this.#over.signal
  }

  commit: Work<Tx>['commit'] = async <T>(body: (at: Phase<Tx>) => Awaitable<T>): Promise<T> => {
    if (this.#answer !== undefined)
      throw new HapaxError('already_answered', 'Call work.commit once: one request has one answer.')
    const { tx, toAnswer } = this.#ground
    const value = Promise.resolve().then(() => body({ tx, effect: this.effect }))
    this.#answer = value.then(toAnswer)
    this.#answer.catch(() => {})
    return value
  }

  effect: Work<Tx>['effect'] = (kind, payload, options) => this.#ground.effects.add(kind, payload, options)
  downstreamKey: Work<Tx>['downstreamKey'] = async (name) => derivedKey('call', this.#ground.claim, name)
  childKey: Work<Tx>['childKey'] = (name) => childKey(this.#ground.claim, name)
  transaction: Work<Tx>['transaction'] = () => Promise.reject(unsupported('work.transaction'))
  call: Work<Tx>['call'] = () => Promise.reject(unsupported('work.call'))
  extend: Work<Tx>['extend'] = () => Promise.reject(unsupported('work.extend'))
  doubt: Work<Tx>['doubt'] = () => {
    throw unsupported('work.doubt')
  }
}

function unsupported(what: string): HapaxError {
  const message = `${what} has no place in mode 'transaction': the request is one transaction, which is there or not. Use effects for what is outside, or leave the mode out.`
  return new HapaxError('phase_unsupported', message)
}
