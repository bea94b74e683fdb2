import type { FastifyRequest, RouteShorthandOptionsWithHandler } from 'fastify'
import {
  type Duration,
  type FingerprintSource,
  type IdempotencyKey,
  type Operation,
  type OperationOptions,
  parseKeyHeader,
  profiles,
  scopeOf,
} from 'hapax'
import { guard } from 'hapax/fastify'
import type { Transaction } from '../database/database.js'
import { patienceOf } from '../partners/patience.js'
import type { Sandbox } from '../sandbox.js'
import { isObject } from '../web/fields.js'
import { everyRoute, keyRulesOf, ownerOf } from '../web/keys.js'
import { Problem } from '../web/problem.js'
import { authenticate } from '../web/tenant.js'
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

/** What comes before the key is reserved. */
interface Before<Input> {
  /** Makes the operation's input of a request, or refuses it: on a retry too. */
  read(request: FastifyRequest): Promise<Input>
  /** Looks whether it may begin as things stand, and throws a problem where it may not. */
  readonly look?: (input: Input) => Promise<unknown>
}

/** A POST that is bound to an operation. What is refused before the key is reserved leaves nothing behind. */
export function guarded<Input>(
  sandbox: Sandbox,
  operation: Operation<Transaction, Input>,
  { read, look = async () => {} }: Before<Input>,
): Route {
  const inputs = new WeakMap<FastifyRequest, Input>()
  return guard(
    sandbox.hapax,
    {
      ...everyRoute(sandbox),
      operation,
      profile: profiles.marketplace,
      input: (request) => inputs.get(request) as Input,
    },
    {
      onRequest: authenticate,
      async preValidation(request) {
        const input = await read(request)
        inputs.set(request, input)
        await look(input).catch((refusal: unknown) => refuseNew(sandbox, request, refusal))
      },
      errorHandler: answerError,
      config: { emptyBody: 'allowed' },
    },
  )
}

/**
 * A key that is on record goes on: its retry is answered as its first request was, however things stand by now. They were
 * looked at before this, so that where there is no record now, no request with this key had been answered then.
 */
async function refuseNew(sandbox: Sandbox, request: FastifyRequest, refusal: unknown): Promise<void> {
  if (!(refusal instanceof Problem)) throw refusal
  const key = keyIn(sandbox, request)
  // What is wrong with a key is told first, by the guard.
  if (key === undefined) return
  const scope = scopeOf(ownerOf(sandbox)(request))
  if ((await sandbox.hapax.find({ scope, key })) === undefined) throw refusal
}

function keyIn(sandbox: Sandbox, { raw }: FastifyRequest): IdempotencyKey | undefined {
  const { header, key } = profiles.marketplace
  try {
    return parseKeyHeader(raw.headersDistinct[header], { ...key, ...keyRulesOf(sandbox) })
  } catch {
    return undefined
  }
}

export function idIn({ params }: FastifyRequest): string {
  return (params as { readonly id: string }).id
}
