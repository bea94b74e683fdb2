import { randomUUID } from 'node:crypto'
import type { Fingerprint } from '../../dist/engine/fingerprint/fingerprint.js'
import { keyOf } from '../../dist/engine/key.js'
import { scopeOf } from '../../dist/engine/scope.js'
import type { Store } from '../../dist/engine/store.js'

const perRecord = 500

/** Writes effects as phases do: with records. */
export async function writeEffects<Tx>(store: Store<Tx>, count: number): Promise<void> {
  for (let from = 0; from < count; from += perRecord) await writeSome(store, Math.min(perRecord, count - from))
}

async function writeSome<Tx>(store: Store<Tx>, count: number): Promise<void> {
  const key = randomUUID()
  const verdict = await store.reserve({
    scope: scopeOf('bench'),
    key: keyOf(key),
    claimId: key,
    operation: 'orders.create',
    fingerprints: ['sha256-v1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' as Fingerprint],
    onLeaseOver: 'doubt',
    onExpired: 'run',
    onNew: 'take',
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    tombstoneMs: 86_400_000,
  })
  if (verdict.kind !== 'reserved' || store.transaction === undefined) throw new Error(`a new key is ${verdict.kind}`)
  const effects = Array.from({ length: count }, (_, index) => ({
    kind: 'bench.call',
    payload: Buffer.from(JSON.stringify({ orderId: `o-${index}` })),
    downstreamKey: `${key}-${index}`,
    phase: 'ordered',
    sequence: index + 1,
    order: undefined,
    dueInMs: 0,
  }))
  const answer = { kind: 'kept', status: 201, headers: [], body: new Uint8Array() } as const
  await store.transaction(verdict.claim, async () => ({
    value: undefined,
    write: { kind: 'complete', answer, answerVersion: 1 },
    effects,
  }))
}
