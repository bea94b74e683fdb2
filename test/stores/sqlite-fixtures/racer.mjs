// One of several processes that race for the same keys. Says `ready`, waits for `go`, and then tells of every key
// that it has won and completed, once the store has acknowledged it.
import { isHapaxError, keyOf } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { completion, reservation } from '../../../dist/conformance/given.js'

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
    const asked = reservation({ key: keyOf(key), leaseMs: 60_000, tombstoneMs: 0 })
    const verdict = await insist(() => store.reserve(asked))
    if (verdict.kind !== 'reserved') continue
    process.send({ won: key })
    if (await insist(() => store.complete(verdict.claim, completion(`${name} ${key}`))))
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
