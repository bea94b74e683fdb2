/** An application that serves callers and has workers, of which only the reaper has something to do. */
import process from 'node:process'
import { engine, startWorkers } from 'hapax'
import { postgresStore } from 'hapax/postgres'
import pg from 'pg'
import { answering } from '../harness/answering.mjs'
import { closedLoop } from '../harness/loops.mjs'
import { pairsOn } from '../store/pairs.mjs'

/** @typedef {{ url: string, callers: number }} Settings */
/** @typedef {{ reaper: 'off' | 'on', seconds: number }} Wanted */
/**
 * @typedef {object} Served
 * @property {number} perSecond
 * @property {number} reserveP99Ms
 * @property {number} reaped records that the reaper buried or deleted meanwhile
 */

/** @type {Settings} */
const { url, callers } = JSON.parse(process.argv[2] ?? '')
const pool = new pg.Pool({ connectionString: url, max: 16 })
pool.on('error', () => undefined)
const store = postgresStore({ pool, connection: 'direct' })
const hapax = engine({ store })
const isOpen = hapax.open()
let reaped = 0
hapax.on('reaped', ({ buried, deleted }) => {
  reaped += buried + deleted
})

answering(async (/** @type {Wanted} */ { reaper, seconds }) => {
  await isOpen
  const before = reaped
  const workers =
    reaper === 'on' ? startWorkers({ hapax, sweeper: 'off', resumer: 'off', reconciler: 'off' }) : undefined
  /** @type {number[]} */
  const reserving = []
  /** @type {typeof store.reserve} */
  const reserve = async (reservation) => {
    const startedAt = performance.now()
    const verdict = await store.reserve(reservation)
    reserving.push(performance.now() - startedAt)
    return verdict
  }
  const { perSecond } = await closedLoop(pairsOn({ ...store, reserve }), { concurrency: callers, seconds })
  await workers?.stop()
  const sorted = Float64Array.from(reserving).sort()
  return { perSecond, reserveP99Ms: sorted[Math.floor(sorted.length * 0.99)], reaped: reaped - before }
})
