import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Fingerprint } from '../engine/fingerprint/fingerprint.js'
import { type IdempotencyKey, keyOf } from '../engine/key.js'
import type { Answer, Claim, StoredAnswer } from '../engine/record.js'
import { scopeOf } from '../engine/scope.js'
import type { Checkpoint, Completion, Settlement } from '../engine/store.js'
import type { Reservation } from '../engine/verdict.js'
import { systemChance } from '../kernel/chance.js'
import type { AnyStore } from './stage.js'

/** The requests that the cases make, and the records that they find. */

export const leaseMs = 30_000
export const retentionMs = 24 * 3_600_000
export const tombstoneMs = 30 * retentionMs

/** A request of somebody else, unless the claim id is given. */
export function reservation(changes: Partial<Reservation> = {}): Reservation {
  return {
    scope: scopeOf('acme'),
    key: keyOf('8e03978e-40d5-43dd-bc93-6894a57f9324'),
    claimId: systemChance.id(),
    operation: 'payments.create',
    fingerprints: [fingerprint('this request')],
    leaseMs,
    retentionMs,
    tombstoneMs,
    onLeaseOver: 'doubt',
    onExpired: 'run',
    onNew: 'take',
    ...changes,
  }
}

export function fingerprint(request: string, recipe = 'sha256-v1'): Fingerprint {
  return `${recipe}:${createHash('sha256').update(request).digest('hex')}` as Fingerprint
}

/** What makes a request another one under the same key. */
export const anotherRequest = { fingerprints: [fingerprint('another request')] } as const satisfies Partial<Reservation>

/** `key-0` … `key-<count - 1>`. */
export function keys(count: number): readonly IdempotencyKey[] {
  return Array.from({ length: count }, (_, index) => keyOf(`key-${index}`))
}

/** The first phase has committed. */
export const checkpoint = {
  recoveryPoint: 'ride_created',
  onLeaseOver: 'doubt',
  leaseMs,
  progress: Buffer.from('{"ride":7}'),
} as const satisfies Checkpoint

export function answer(text: string, changes: Partial<Answer> = {}): StoredAnswer {
  return {
    kind: 'kept',
    status: 201,
    headers: [['content-type', 'application/json']],
    body: Buffer.from(text),
    ...changes,
  }
}

export function completion(text = '{"id":"pay_1"}'): Completion {
  return { answer: answer(text), answerVersion: 1 }
}

export const failure = { errorCode: 'handler_threw' } as const

export const reason = { errorCode: 'provider_timeout', reconcileAfterMs: 5_000 } as const

export function settlement(outcome: Settlement['outcome'], generation = 1): Settlement {
  return { generation, outcome, evidence: { by: 'reconciler', why: 'the provider was asked' } }
}

/** Takes the key, which must be free to take. */
export async function claimed(store: AnyStore, changes: Partial<Reservation> = {}): Promise<Claim> {
  const verdict = await store.reserve(reservation(changes))
  if (verdict.kind !== 'reserved' && verdict.kind !== 'resumed') assert.fail(`the key cannot be taken: ${verdict.kind}`)
  return verdict.claim
}

export async function completed(store: AnyStore, changes: Partial<Reservation> = {}): Promise<Claim> {
  const claim = await claimed(store, changes)
  assert.ok(await store.complete(claim, completion()))
  return claim
}

export async function failed(store: AnyStore, changes: Partial<Reservation> = {}): Promise<Claim> {
  const claim = await claimed(store, changes)
  assert.ok(await store.fail(claim, failure))
  return claim
}

/** Failed after its first phase had committed. */
export async function halfDone(store: AnyStore, changes: Partial<Reservation> = {}): Promise<Claim> {
  const claim = await claimed(store, changes)
  assert.ok(await store.checkpoint(claim, checkpoint))
  assert.ok(await store.fail(claim, failure))
  return claim
}

export async function doubted(store: AnyStore, changes: Partial<Reservation> = {}): Promise<Claim> {
  const claim = await claimed(store, changes)
  assert.ok(await store.doubt(claim, reason))
  return claim
}
