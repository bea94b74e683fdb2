import { storeConformance } from 'hapax/conformance'
import { postgresStore } from 'hapax/postgres'
import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { poolOn } from '../support/postgres-pool.js'
import { nameOf, type PlantedPostgresFault, plantedPostgresFaults } from './planted-postgres-faults.js'
import { postgresHarness } from './postgres-harness.js'
import { type ClientLibrary, connections, pgLibrary } from './postgres-libraries.js'
import { direct } from './postgres-ways.js'

const reach = direct()

if ('missing' in reach) test.skip(`the suite finds out a faulty Postgres store (skipped: ${reach.missing})`, () => {})
else {
  // `npm run simulate -- --sabotage` plants them by these titles.
  describe('the suite finds out that', () => {
    test.each(plantedPostgresFaults.map((planted) => [nameOf(planted), planted] as const))(
      '%s',
      async (_, { caughtBy, from, to }) => {
        const { library, planted } = sabotaged((text) => text.replace(from, to))
        const found = await foundOut(library, caughtBy)
        expect(planted(), 'no statement has what is to be replaced').toBeGreaterThan(0)
        expect(found, 'nobody noticed').toBeInstanceOf(Error)
        // A statement that PostgreSQL cannot even read would be found out by anything.
        const { code = '' } = (found as { cause?: { code?: string } }).cause ?? {}
        expect(code, 'PostgreSQL cannot read the statement').not.toMatch(/^42/)
      },
    )
  })

  test.each([...new Set(plantedPostgresFaults.map(({ caughtBy }) => caughtBy))])(
    'with no fault planted the Postgres store keeps this: %s',
    (name) => caseOf(sabotaged((text) => text).library, name).run(),
  )
}

/** Some faults show only when two meet, which on a busy machine they seldom do: the case is tried for so long. */
const triedForMs = 20_000

async function foundOut(library: ClientLibrary<pg.PoolClient>, name: string): Promise<unknown> {
  const until = performance.now() + triedForMs
  while (performance.now() < until) {
    const found = await caseOf(library, name)
      .run()
      .catch((error: unknown) => error)
    if (found !== undefined) return found
  }
  return undefined
}

function caseOf(library: ClientLibrary<pg.PoolClient>, name: PlantedPostgresFault['caughtBy']) {
  if ('missing' in reach) throw new Error(reach.missing)
  const cases = storeConformance(postgresHarness({ name: 'sabotaged', library, ...reach }))
  const found = cases.find((one) => one.name === name)
  if (found === undefined) throw new Error(`the suite has no case "${name}"`)
  return found
}

/** A pool whose connections send other texts than the store meant, and how many of them it changed. */
function sabotaged(rewritten: (text: string) => string) {
  let planted = 0
  const library: ClientLibrary<pg.PoolClient> = {
    ...pgLibrary,
    connect(url, options) {
      const pool = poolOn(url, { max: connections })
      pool.on('connect', (client) => {
        const { connection } = client as unknown as { readonly connection: Wire }
        const parse = connection.parse.bind(connection)
        connection.parse = (message, ...rest) => {
          const text = rewritten(message.text)
          if (text !== message.text) planted++
          parse({ ...message, text }, ...rest)
        }
      })
      // In groups the racers of one process do not meet in the database, and a statement has two spellings.
      return { store: postgresStore({ ...options, pool, batching: 'off' }), end: () => pool.end() }
    },
  }
  return { library, planted: () => planted }
}

/** How the library has a statement read by the server: whatever the store sends comes by here. */
interface Wire {
  parse(message: { readonly text: string }, ...rest: unknown[]): void
}
