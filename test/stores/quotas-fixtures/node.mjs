/**
 * A process with an engine of its own on a schema that it shares with others. It is told, one JSON line at a time, to
 * push new keys or to retry known ones, and says how each of them ended.
 */
import { createInterface } from 'node:readline'
import { engine, isHapaxError } from 'hapax'
import { postgresStore } from 'hapax/postgres'
import pg from 'pg'
import { RateLimiterPostgres } from 'rate-limiter-flexible'

/**
 * @typedef {object} Setup
 * @property {string} url
 * @property {string} schema
 * @property {{ points: number }} [rate] new keys in ten minutes, counted in a table that all processes share
 * @property {Pick<import('hapax').QuotaOptions, 'activeKeys' | 'storedBytes'>} quotas
 * @property {number} answerBytes
 */

/** @type {Setup} */
const { url, schema, rate, quotas, answerBytes } = JSON.parse(process.argv[2] ?? '{}')
const pool = new pg.Pool({ connectionString: url, max: 6 })
const newKeys =
  rate &&
  new RateLimiterPostgres({
    storeClient: pool,
    schemaName: schema,
    tableName: 'rates',
    tableCreated: true,
    clearExpiredByTimeout: false,
    points: rate.points,
    duration: 600,
  })
const hapax = engine({
  store: postgresStore({ pool, schema, connection: 'direct' }),
  quotas: { ...quotas, ...(newKeys && { newKeys }) },
  log: () => {},
})
const policy = hapax.policy({ name: 'payments.create' })

/** @param {string} key */
async function run(key) {
  try {
    const { replayed } = await hapax.run({ scope: { tenant: 'acme', principal: key }, key, policy }, async () =>
      'x'.repeat(answerBytes - 2),
    )
    return replayed ? 'replayed' : 'admitted'
  } catch (error) {
    return isHapaxError(error) ? error.code : String(error)
  }
}

/** @param {{ keys: string[], atOnce: number }} order */
async function runAll({ keys, atOnce }) {
  /** @type {Record<string, string>} */
  const ended = {}
  const left = [...keys]
  const one = async () => {
    for (let key = left.shift(); key !== undefined; key = left.shift()) ended[key] = await run(key)
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  return ended
}

/** @param {unknown} what */
const say = (what) => void process.stdout.write(`${JSON.stringify(what)}\n`)

await hapax.open()
say('ready')
for await (const line of createInterface({ input: process.stdin })) say(await runAll(JSON.parse(line)))
await hapax.close()
await pool.end()
