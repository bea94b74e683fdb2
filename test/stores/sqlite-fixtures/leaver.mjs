// A process that calls `process.exit(7)` while its store is in the midst of many reads and writes.
import { keyOf, scopeOf } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'

const [path] = process.argv.slice(2)
const store = sqliteStore({ path })
await store.open()
const body = new Uint8Array(1_000)

async function work(worker) {
  for (let count = 0; ; count++) {
    const verdict = await store.reserve({
      scope: scopeOf('acme'),
      key: keyOf(`${worker}-${count}`),
      claimId: crypto.randomUUID(),
      operation: 'leave',
      fingerprints: ['v1:00'],
      leaseMs: 30_000,
      retentionMs: 86_400_000,
      tombstoneMs: 0,
      onLeaseOver: 'doubt',
      onExpired: 'run',
    })
    await store.complete(verdict.claim, { answer: { kind: 'kept', status: 200, headers: [], body }, answerVersion: 1 })
    await store.list({ limit: 100 })
  }
}

for (let worker = 0; worker < 20; worker++) void work(worker)
process.send('working', () => setTimeout(() => process.exit(7), 100 * Math.random()))
