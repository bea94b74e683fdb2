import { randomUUID } from 'node:crypto'
import { type Claim, type Completion, type Fingerprint, keyOf, type Reservation, type Store, scopeOf } from 'hapax'
import { days, seconds } from './times.js'

/** Requests and records in the words of the store port. */

export const leaseMs = 30 * seconds

/** A request of somebody new, unless the claim id is given. */
export function reservation(key: string, changes: Partial<Reservation> = {}): Reservation {
  return {
    scope: scopeOf('acme'),
    key: keyOf(key),
    claimId: randomUUID(),
    operation: 'payments.create',
    fingerprints: ['1.test:aa' as Fingerprint],
    leaseMs,
    retentionMs: days,
    tombstoneMs: 30 * days,
    onLeaseOver: 'doubt',
    onExpired: 'run',
    onNew: 'take',
    ...changes,
  }
}

export const anotherRequest = { fingerprints: ['1.test:bb' as Fingerprint] } as const satisfies Partial<Reservation>

export const created: Completion = {
  answer: {
    kind: 'kept',
    status: 201,
    headers: [['location', '/payments/1']],
    body: new TextEncoder().encode('{"id":1}'),
  },
  answerVersion: 3,
}

/** Takes the key, which must be free to take. */
export async function claimed(store: Pick<Store, 'reserve'>, asked: Reservation): Promise<Claim> {
  const verdict = await store.reserve(asked)
  if (verdict.kind === 'reserved' || verdict.kind === 'resumed') return verdict.claim
  throw new Error(`the key cannot be taken: ${verdict.kind}`)
}
