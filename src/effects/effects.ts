import type { EffectDefinition, EffectKind, Effects, RetryOptions } from '../engine/effect-definition.js'
import { isName } from '../engine/name.js'
import { type Duration, formatDuration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { backoffs, effectBounds, limits } from '../kernel/limits.js'

/**
 * The kinds of effects that an application has, each with how it is carried out. Checked here, once, so that no worker
 * meets one that contradicts itself.
 *
 * @example
 * const outbox = effects({
 *   'receipt.send': {
 *     call: ({ payload, key, signal }: EffectCall<Receipt>) => mail.send(payload, { idempotencyKey: key, signal }),
 *     honoursKeyFor: '24h',
 *   },
 * })
 */
export function effects<
  Payloads extends { readonly [kind: string]: unknown },
  Results extends { readonly [Kind in keyof Payloads]: unknown },
  Tx = unknown,
>(
  definitions: {
    readonly [Kind in keyof Payloads & keyof Results]: EffectDefinition<Payloads[Kind], Results[Kind], Tx>
  },
): Effects<Payloads, Tx> {
  const kinds = Object.entries(definitions).map(
    ([name, definition]) => [name, kindOf(name, definition as EffectDefinition<never, unknown, never>)] as const,
  )
  return { kinds: new Map(kinds) }
}

function kindOf(name: string, definition: EffectDefinition<never, unknown, never>): EffectKind {
  if (!isName(name)) {
    const message = `An effect needs a name of 1 to ${limits.nameLength} printable characters, like 'receipt.send'.`
    throw new HapaxError('policy_invalid', message)
  }
  const refuse = (message: string): never => {
    throw new HapaxError('policy_invalid', `Effect "${name}": ${message}`)
  }
  const { retry = {} } = definition
  refuseMisspellings(definition, refuse)
  for (const option of Object.keys(retry)) {
    if (!Object.hasOwn(retryOptions, option)) refuse(`retry.${option} is not an option.`)
  }
  const ms = (text: Duration | undefined, otherwise: number, option: string) =>
    text === undefined ? otherwise : parseDuration(text, `Effect "${name}": ${option}`)
  const { firstMs, maxMs } = backoffs.effect
  // Payload and result come from rows: from here on nobody knows their types.
  const given = definition as unknown as EffectDefinition<unknown, unknown, unknown>
  const kind: EffectKind = {
    name,
    call: given.call,
    lookup: given.lookup,
    apply: given.apply,
    classify: given.classify ?? (() => 'doubt'),
    providerId: given.providerId,
    orderBy: given.orderBy,
    relay: given.relay,
    attempts: retry.attempts ?? effectBounds.attempts,
    withinMs: ms(retry.within, effectBounds.withinMs, 'retry.within'),
    backoff: { firstMs: ms(retry.first, firstMs, 'retry.first'), maxMs: ms(retry.max, maxMs, 'retry.max') },
    honoursKeyMs: given.honoursKeyFor === undefined ? undefined : ms(given.honoursKeyFor, Number.NaN, 'honoursKeyFor'),
    timeoutMs: ms(given.timeout, effectBounds.timeoutMs, 'timeout'),
    readLagMs: ms(given.readLag, 0, 'readLag'),
    visibilityMs: ms(given.visibility, effectBounds.visibilityMs, 'visibility'),
  }
  refuseContradictions(kind, refuse)
  return Object.freeze(kind)
}

/** Every option, and what it must be. The compiler sees that none is missing. */
const options: Readonly<Record<keyof EffectDefinition<never, never, never>, 'function' | 'object' | 'string'>> = {
  call: 'function',
  lookup: 'function',
  apply: 'function',
  classify: 'function',
  providerId: 'function',
  retry: 'object',
  honoursKeyFor: 'string',
  timeout: 'string',
  readLag: 'string',
  orderBy: 'function',
  relay: 'function',
  visibility: 'string',
}

const retryOptions: Readonly<Record<keyof RetryOptions, true>> = {
  attempts: true,
  within: true,
  first: true,
  max: true,
}

/** A misspelt option would silently be the default: what nobody wants to learn in production. */
function refuseMisspellings(definition: object, refuse: (message: string) => never): void {
  const known: Readonly<Record<string, string>> = options
  for (const [option, value] of Object.entries(definition)) {
    if (!Object.hasOwn(known, option)) refuse(`${option} is not an option.`)
    if (value !== undefined && typeof value !== known[option]) refuse(`${option} must be a ${known[option]}.`)
  }
}

function refuseContradictions(kind: EffectKind, refuse: (message: string) => never): void {
  const { attempts, timeoutMs, honoursKeyMs, backoff } = kind
  const margin = formatDuration(effectBounds.keyMarginMs)
  if (typeof kind.call !== 'function') refuse('it needs a call.')
  if (!Number.isSafeInteger(attempts) || attempts < 1) refuse('retry.attempts must be a whole number from 1.')
  if (timeoutMs < 1) refuse('timeout must be longer than nothing.')
  if (backoff.firstMs < 1 || backoff.maxMs < backoff.firstMs) refuse('retry.first must be from 1ms to retry.max.')
  if (honoursKeyMs !== undefined && honoursKeyMs <= effectBounds.keyMarginMs + timeoutMs) {
    refuse(`retries stop ${margin} before the provider forgets a key, so honoursKeyFor must be longer than that.`)
  }
}
