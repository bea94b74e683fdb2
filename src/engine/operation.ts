import type { Awaitable } from '../kernel/awaitable.js'
import { HapaxError } from '../kernel/errors.js'
import { errorToAnswer, jsonText, valueToAnswer } from './plain.js'
import type { Policy, PolicyOptions } from './policy.js'
import type { Answer } from './record.js'
import type { Work } from './work.js'

/** What an operation is given besides its name: everything that a policy says. */
export type OperationOptions = Omit<PolicyOptions, 'name' | 'version'> & {
  /** Raise it when the phases change. */
  readonly version: number
}

/**
 * A named, versioned handler over a stored input. A route may be bound to one, and only an operation can be finished in the
 * background, when its client never comes back.
 */
export interface Operation<Tx = never, Input = unknown, Output = unknown> {
  readonly name: string
  readonly options: PolicyOptions
  readonly handler: (work: Work<Tx>, input: Input) => Awaitable<Output>
}

/** An operation as the engine holds it, for whatever input. */
export interface Held<Tx> {
  readonly operation: Operation<Tx, never>
  /** Of the route that it is bound to, or its own. */
  readonly policy: Policy
  /** The same: a retry over HTTP may be given what a worker has answered. */
  readonly wording: Wording
}

/** How what an operation returned, or threw, is written down. */
export interface Wording {
  /** Two that have the same name write the same. It is long, and nobody asks for it before a second route is bound. */
  name(): string
  toAnswer(value: unknown): Answer
  errorToAnswer(error: unknown): Answer
}

export interface Operations<Tx> {
  add(held: Held<Tx>): void
  /**
   * Another policy and wording for one that is known: those of the route which it is bound to. A worker that finishes it does
   * not know by which route it came, so that all routes of an operation must write alike.
   */
  bind(name: string, route: Pick<Held<Tx>, 'policy' | 'wording'>): void
  find(name: string): Held<Tx> | undefined
  names(): readonly string[]
}

export function operations<Tx>(): Operations<Tx> {
  const byName = new Map<string, Held<Tx>>()
  return {
    add(held) {
      const { name } = held.operation
      if (byName.has(name)) throw new HapaxError('operation_unknown', `Two operations are named "${name}"; rename one.`)
      byName.set(name, held)
    },
    bind(name, route) {
      const held = byName.get(name)
      if (held === undefined)
        throw new HapaxError(
          'operation_unknown',
          `Operation "${name}" was made by another engine; make it with this one.`,
        )
      if (held.wording !== plainWording && held.wording.name() !== route.wording.name()) throw boundInTwoWays(name)
      byName.set(name, { ...held, ...route })
    },
    find: (name) => byName.get(name),
    names: () => [...byName.keys()],
  }
}

function boundInTwoWays(name: string): HapaxError {
  const message = `Operation "${name}" is bound to two routes with other profiles or keepHeaders. What a worker finishes is written as one of them: give both the same, or make an operation for each; the handler may be shared. (A module that was loaded anew with another one takes a restart.)`
  return new HapaxError('policy_invalid', message)
}

/** What an operation may return instead of a plain value: a status, a body to write as JSON, and headers. */
export interface OperationReply {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** What comes of it for a caller in this process: the body of a reply, or the value. */
export type Performed<Output> = Output extends { readonly status: number } ? BodyOf<Output> : Output

type BodyOf<Reply> = Reply extends { readonly body: infer Body } ? Body : undefined

/** The same bytes, whoever runs it: a request, a retry or the resumer. */
export function operationAnswer(value: unknown): Answer {
  if (!isReply(value)) return valueToAnswer(value)
  const { status, body, headers = {} } = value
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new HapaxError('handler_failed', `An operation replied with status ${status}; use 200 to 599.`)
  const given = Object.entries(headers).map(([name, text]) => [name, String(text)] as const)
  if (body === undefined) return { status, headers: given, body: new Uint8Array() }
  const isTyped = given.some(([name]) => name.toLowerCase() === 'content-type')
  const type = isTyped ? [] : [['content-type', 'application/json'] as const]
  return { status, headers: [...type, ...given], body: Buffer.from(jsonText(body, 'body of the reply')) }
}

/** Where nobody but this process asks for the answer. */
export const plainWording: Wording = { name: () => 'plain', toAnswer: operationAnswer, errorToAnswer }

function isReply(value: unknown): value is OperationReply {
  return typeof value === 'object' && value !== null && typeof (value as { status?: unknown }).status === 'number'
}

export function inputOf<Input>(text: string): Input {
  return JSON.parse(text) as Input
}
