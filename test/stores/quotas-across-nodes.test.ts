import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { QuotaOptions } from 'hapax'
import { expect, onTestFinished, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { type FreshSchema, schemaOfTest } from '../support/postgres-schema.js'
import { bounded } from '../support/waiting.js'

/** Two processes, each with an engine of its own on one schema, push far more than a tenant may have. */

const limit = 400
const answerBytes = 1_000

interface Case {
  readonly quota: string
  readonly setup: { readonly quotas: QuotaOptions; readonly rate?: { readonly points: number } }
  /** Requests that each process has under way. Answers under way may exceed a quota of bytes, so there it has fewer. */
  readonly atOnce: number
}

const cases: readonly Case[] = [
  {
    quota: 'the rate of new keys',
    setup: { quotas: {}, rate: { points: limit } },
    atOnce: 20,
  },
  { quota: 'the active keys', setup: { quotas: { activeKeys: limit } }, atOnce: 20 },
  { quota: 'the stored bytes', setup: { quotas: { storedBytes: limit * answerBytes } }, atOnce: 2 },
]

onPostgres('across two nodes', (url) => {
  test.each(cases)(
    '$quota: what two processes let in is within 5 % of the limit, and no retry is refused',
    async ({ setup, atOnce }) => {
      const given = await schemaOfTest(url)
      if (setup.rate !== undefined) await makeRates(given)
      const start = () => startNode({ url, schema: given.schema, answerBytes, ...setup })
      const [one, two] = await Promise.all([start(), start()])

      const [byOne, byTwo] = await Promise.all([
        one({ keys: keysOf('one'), atOnce }),
        two({ keys: keysOf('two'), atOnce }),
      ])
      const admitted = [byOne, byTwo].map((ended) => keysThat(ended, 'admitted'))
      const total = admitted.flat().length
      expect(total).toBeGreaterThanOrEqual(limit * 0.95)
      expect(total).toBeLessThanOrEqual(limit * 1.05)
      const refused = new Set([...Object.values(byOne), ...Object.values(byTwo)])
      expect(refused).toEqual(new Set(['admitted', 'quota_exceeded']))

      // Whoever was turned away left nothing behind.
      expect(await given.node().store.usage('acme', 10 * limit)).toEqual({ keys: total, bytes: total * answerBytes })

      const [ofOne = [], ofTwo = []] = admitted
      const [again, andAgain] = await Promise.all([two({ keys: ofOne, atOnce: 20 }), one({ keys: ofTwo, atOnce: 20 })])
      expect([...keysThat(again, 'replayed'), ...keysThat(andAgain, 'replayed')]).toHaveLength(total)
    },
  )
})

type Ended = Readonly<Record<string, string>>

function keysOf(node: string): readonly string[] {
  return Array.from({ length: 1.5 * limit }, (_, index) => `${node}-${index}`)
}

function keysThat(ended: Ended, how: string): readonly string[] {
  return Object.keys(ended).filter((key) => ended[key] === how)
}

/** The table of RateLimiterPostgres, as its documentation has it. */
async function makeRates({ owner, schema }: FreshSchema): Promise<void> {
  await owner.query(
    `CREATE TABLE ${schema}.rates (key varchar(255) PRIMARY KEY, points integer NOT NULL DEFAULT 0, expire bigint)`,
  )
}

type Node = (order: { readonly keys: readonly string[]; readonly atOnce: number }) => Promise<Ended>

const program = fileURLToPath(new URL('./quotas-fixtures/node.mjs', import.meta.url))

async function startNode(setup: object): Promise<Node> {
  const child = spawn(process.execPath, [program, JSON.stringify(setup)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (what: string) => {
    const { value, done } = await bounded(lines.next(), what, 25_000)
    if (done) throw new Error(`the process ended before ${what}`)
    return JSON.parse(value)
  }
  expect(await next('the process to be ready')).toBe('ready')
  return (order) => {
    child.stdin.write(`${JSON.stringify(order)}\n`)
    return next('all requests to end')
  }
}
