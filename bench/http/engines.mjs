import { PGlite } from '@electric-sql/pglite'
import { engine } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { migratePostgres, postgresStore } from 'hapax/postgres'
import pg from 'pg'

/**
 * What guards the route, if anything does. On PostgreSQL as its guide says for a direct connection; as it says for a pooler, which
 * is the default; or without a cache of replays.
 *
 * @typedef {'bare' | 'postgres' | 'pooler' | 'uncached' | 'pglite' | 'memory'} Site
 */

/**
 * @param {Site} site
 * @param {string | undefined} url of the PostgreSQL that it is on
 * @param {import('./watched.mjs').Watcher} watcher
 */
export async function engineOf(site, url, watcher) {
  if (site === 'bare') return undefined
  // Who is not watched does not even load what would watch.
  const watching = watcher === 'nobody' ? undefined : await import('./watched.mjs')
  const tracing = watching?.tracingOf(watcher)
  const store = await storeOf(site, url)
  const hapax = engine({ store, ...(site === 'uncached' && { replayCache: 'off' }), ...(tracing && { tracing }) })
  watching?.watch(watcher, hapax)
  await hapax.open()
  return hapax
}

/**
 * No handler here asks for a transaction, so that it does not matter whose it would be.
 *
 * @param {Exclude<Site, 'bare'>} site
 * @param {string | undefined} url
 * @returns {Promise<any>}
 */
async function storeOf(site, url) {
  if (site === 'memory') return memoryStore()
  if (site === 'pglite') {
    const pool = await PGlite.create()
    await migratePostgres({ pool })
    return postgresStore({ pool, durability: 'unchecked' })
  }
  const pool = new pg.Pool({ connectionString: url, max: 16 })
  pool.on('error', () => undefined)
  return postgresStore({ pool, connection: site === 'pooler' ? 'pooler' : 'direct' })
}
