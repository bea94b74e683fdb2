/** An application with a store of PostgreSQL and callers, in a process of its own. */
import process from 'node:process'
import { postgresStore } from 'hapax/postgres'
import pg from 'pg'
import { answering } from '../harness/answering.mjs'
import { closedLoop, openLoop } from '../harness/loops.mjs'
import { pairsOn, replaysOn } from './pairs.mjs'

/**
 * @typedef {object} Settings
 * @property {string} url
 * @property {string} schema
 * @property {'on' | 'off'} batching
 * @property {number} connections
 *
 * @typedef {{ kind: 'pairs' | 'replays', concurrency: number, seconds: number }
 *   | { kind: 'pairs at a rate', rate: number, seconds: number }} Wanted
 */

/** @type {Settings} */
const { url, schema, batching, connections } = JSON.parse(process.argv[2] ?? '')
const pool = new pg.Pool({ connectionString: url, max: connections })
pool.on('error', () => undefined)
const store = postgresStore({ pool, schema, batching, connection: 'direct' })
const isOpen = store.open()
/** @type {Promise<import('../harness/loops.mjs').Once> | undefined} */
let replays

answering(async (/** @type {Wanted} */ wanted) => {
  await isOpen
  if (wanted.kind === 'pairs') return closedLoop(pairsOn(store), wanted)
  if (wanted.kind === 'pairs at a rate') return openLoop(pairsOn(store), wanted)
  replays ??= replaysOn(store)
  return closedLoop(await replays, wanted)
})
