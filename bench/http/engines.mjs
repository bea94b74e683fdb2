import { PGlite } from '@electric-sql/pglite'
import { engine } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { migratePostgres, postgresStore } from 'hapax/postgres'
import pg from 'pg'
import { tracingOf, watch } from './watched.mjs'

/** @typedef {'bare' | 'postgres' | 'pglite' | 'memory'} Site what guards the route, if anything does */

/**
 * @param {Site} site
 * @param {string | undefined} url of the PostgreSQL that it is on
 * @param {import('./watched.mjs').Watcher} watcher
 */
export async function engineOf(site, url, watcher) {
  if (site === 'bare') return undefined
  const tracing = tracingOf(watcher)
  const hapax = engine({ store: await storeOf(site, url), ...(tracing && { tracing }) })
  watch(watcher, hapax)
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
  if (site === 'postgres') {
    const pool = new pg.Pool({ connectionString: url, max: 16 })
    pool.on('error', () => undefined)
    return postgresStore({ pool, connection: 'direct' })
  }
  const pool = await PGlite.create()
  await migratePostgres({ pool })
  return postgresStore({ pool, durability: 'unchecked' })
}
