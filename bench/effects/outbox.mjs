import pg from 'pg'
import { effects } from '../../dist/effects/effects.js'
import { effectWorker } from '../../dist/effects/worker.js'
import { postgresStore } from '../../dist/stores/postgres/index.js'
import { writeEffects } from './written.mjs'

/**
 * The outbox of a PostgreSQL, and one worker.
 *
 * @param {string} url
 * @param {number} connections
 * @returns {Promise<import('./app.mjs').Worked>}
 */
export async function startedOutbox(url, connections) {
  const pool = new pg.Pool({ connectionString: url, max: connections })
  pool.on('error', () => undefined)
  const store = postgresStore({ pool, connection: 'direct' })
  await store.open()
  const outbox = effects({ 'bench.call': { call: async () => ({ id: 'p_1' }), honoursKeyFor: '24h' } })
  return {
    write: (count) => writeEffects(store, count),
    async carryOut(count, batch) {
      const enough = new AbortController()
      let left = count
      /** @type {typeof store.effects.settle} */
      const settle = async (settlements) => {
        const written = await store.effects.settle(settlements)
        left -= written.filter((isWritten) => isWritten).length
        if (left === 0) enough.abort()
        return written
      }
      const worker = effectWorker({
        store: { ...store.effects, settle },
        effects: outbox,
        concurrency: batch,
        batch: 3 * batch,
      })
      await worker.run(enough.signal)
    },
  }
}
