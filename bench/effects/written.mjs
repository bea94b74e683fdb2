import { randomUUID } from 'node:crypto'
import { keyOf } from '../../dist/engine/key.js'
import { scopeOf } from '../../dist/engine/scope.js'

const perRecord = 500

/**
 * Writes effects as phases do: with records.
 *
 * @param {import('../../dist/engine/store.js').Store<any>} store
 * @param {number} count
 */
export async function writeEffects(store, count) {
  for (let from = 0; from < count; from += perRecord) await writeSome(store, Math.min(perRecord, count - from))
}

/**
 * @param {import('../../dist/engine/store.js').Store<any>} store
 * @param {number} count
 */
async function writeSome(store, count) {
  const key = randomUUID()
  const verdict = await store.reserve({
    scope: scopeOf('bench'),
    key: keyOf(key),
    claimId: key,
    operation: 'orders.create',
    fingerprints: [/** @type {any} */ ('sha256-v1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA')],
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
  /** @type {import('../../dist/engine/store.js').Completion['answer']} */
  const answer = { kind: 'kept', status: 201, headers: [], body: new Uint8Array() }
  await store.transaction(verdict.claim, async () => ({
    value: undefined,
    write: { kind: 'complete', answer, answerVersion: 1 },
    effects,
  }))
}
