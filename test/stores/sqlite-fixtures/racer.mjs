// One of several processes that race for the same keys. Says `ready`, waits for `go`, and then tells of every key
// that it has won and completed, once the store has acknowledged it.
import { isHapaxError, keyOf, scopeOf } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'

const [path, name, keys] = process.argv.slice(2)
const store = sqliteStore({ path, busyTimeout: '10s' })
await store.open()
process.send('ready')
await new Promise((resolve) => process.once('message', resolve))

const inFlight = 50
let next = 0
await Promise.all(Array.from({ length: inFlight }, race))
await store.close()
process.send({ done: true })
process.disconnect()

async function race() {
  while (next < Number(keys)) {
    const key = `key-${next++}`
    const claimId = crypto.randomUUID()
    const verdict = await insist(() => store.reserve(reservation(key, claimId)))
    if (verdict.kind !== 'reserved') continue
    process.send({ won: key })
    const body = new TextEncoder().encode(`${name} ${key}`)
    const answer = { kind: 'kept', status: 201, headers: [], body }
    if (await insist(() => store.complete(verdict.claim, { answer, answerVersion: 1 })))
      process.send({ completed: key })
  }
}

/** A busy database is asked again, with the same claim. */
async function insist(step) {
  for (;;) {
    try {
      return await step()
    } catch (error) {
      if (!isHapaxError(error, 'store_busy')) throw error
    }
  }
}

function reservation(key, claimId) {
  return {
    scope: scopeOf('acme'),
    key: keyOf(key),
    claimId,
    operation: 'race',
    fingerprints: ['v1:00'],
    leaseMs: 60_000,
    retentionMs: 86_400_000,
    tombstoneMs: 0,
    onLeaseOver: 'doubt',
    onExpired: 'run',
  }
}
