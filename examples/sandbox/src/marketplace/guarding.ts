import type { FastifyRequest, RouteShorthandOptionsWithHandler } from 'fastify'
import { type Duration, type FingerprintSource, type Operation, type OperationOptions, profiles } from 'hapax'
import { guard } from 'hapax/fastify'
import type { Transaction } from '../database/database.js'
import { patienceOf } from '../partners/patience.js'
import type { Sandbox } from '../sandbox.js'
import { isObject } from '../web/fields.js'
import { Problem } from '../web/problem.js'
import { authenticate, tenantOf } from '../web/tenant.js'
import { bodyLimit } from '../web/web-app.js'
import { answerError } from './problems.js'

/** What all guarded routes of the marketplace have in common. */

export type Route = RouteShorthandOptionsWithHandler

/** How long answers are kept, and which members of the body tell two requests with one key apart. */
interface Rules {
  readonly retention: Duration | 'forever'
  /** None: what is named in the path is all that counts. */
  readonly compared: readonly string[]
}

/** An operation whose rows and answer are one transaction. What it throws leaves nothing behind, and its key free. */
export function inOneTransaction({ retention, compared }: Rules): OperationOptions {
  return { version: 1, mode: 'transaction', retention, fingerprint: comparing(compared) }
}

/**
 * An operation in phases, with a call to a partner in the middle. A problem that is thrown before its first phase gives the
 * key back as if nobody had come; later on, it is tried again.
 */
export function inPhases(sandbox: Sandbox, { retention, compared }: Rules): OperationOptions {
  return {
    version: 1,
    retention,
    lease: patienceOf(sandbox).lease,
    fingerprint: comparing(compared),
    onError: (failure) => (failure instanceof Problem ? 'release' : 'retry'),
  }
}

/**
 * The path and these members as we read them, and nothing else: a `null` is no member, and of two of one name the last counts.
 * The body has been found valid by now.
 */
function comparing(members: readonly string[]): NonNullable<OperationOptions['fingerprint']> {
  const id = ['only', ...members].join('-').replaceAll('.', '_')
  const of = ({ body }: FingerprintSource) => {
    const read: unknown = members.length === 0 ? null : JSON.parse(new TextDecoder().decode(body))
    return JSON.stringify(members.map((path) => memberAt(read, path)))
  }
  return { strategy: { kind: 'own', id, of, fields: members, without: ['query', 'media_type'] } }
}

function memberAt(body: unknown, path: string): unknown {
  return path.split('.').reduce((value, name) => (isObject(value) ? (value[name] ?? null) : null), body)
}

/** Whether nothing of an operation is on record yet: only then it is for its handler to say whether it may begin. */
export function isNew(work: { readonly recoveryPoint: string }): boolean {
  return work.recoveryPoint === 'started'
}

/**
 * A POST that is bound to an operation. `read` makes the operation's input of a request, or refuses it: before the key is
 * looked at, so that nothing is reserved and nothing is stored.
 */
export function guarded<Input>(
  { hapax }: Sandbox,
  operation: Operation<Transaction, Input>,
  read: (request: FastifyRequest) => Promise<Input>,
): Route {
  const inputs = new WeakMap<FastifyRequest, Input>()
  return guard(
    hapax,
    {
      operation,
      scope: tenantOf,
      profile: profiles.marketplace,
      methods: ['POST'],
      bodyLimit,
      input: (request) => inputs.get(request) as Input,
    },
    {
      onRequest: authenticate,
      async preValidation(request) {
        inputs.set(request, await read(request))
      },
      errorHandler: answerError,
      config: { emptyBody: 'allowed' },
    },
  )
}

/** The key as it was sent: whoever sends it again goes on with the request. */
export function keyIn({ headers }: FastifyRequest): string {
  return String(headers['idempotency-key'] ?? '')
}

export function idIn({ params }: FastifyRequest): string {
  return (params as { readonly id: string }).id
}
