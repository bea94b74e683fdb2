import type pg from 'pg'
import { admin as adminOf } from '../../dist/admin/index.js'
import { effects, engine } from '../../dist/index.js'
import { migratePostgres, postgresStore } from '../../dist/stores/postgres/index.js'
import { planOf, scansOf } from '../../test/support/postgres-plan.js'
import { recorded, type Sent } from '../../test/support/postgres-recorded.js'
import type { Asked, Bench, Measured } from '../harness/bench.js'
import { closing } from '../harness/closing.js'
import { median } from '../harness/median.js'
import { durablePostgres } from '../harness/postgres.js'
import { rounded } from '../harness/table.js'
import { type Action, actionsOf } from './actions.js'
import { type Extent, filled, groundOf, kindNames } from './filled.js'

const extent: Extent = { records: 5_000_000, effects: 1_000_000, calls: 500_000, entries: 100_000 }
const boundMs = 100
/** Tables that grow with what was done. */
const large = /^Seq Scan on (records|calls|testimonies|effects|effect_states|audit)$/

export const admin: Bench = {
  name: 'admin',
  measures: 'how long what operators ask for takes, on five million records',
  how: `Everything that the admin API asks of PostgreSQL, on records of a thousand tenants that were written by COPY: mostly
answers, a little under way, failed or unknown; with a million effects, half a million calls and 100,000 entries of the
audit log. What is timed is one page. Where a filter has no index of its own (operation, status, resource) it goes through a
bounded number of records and may be empty: whoever wants all asks for the next. What counts is the median of its rounds, of which some are the neighbours'; the slowest is shown, and the
first, which has its plan and its pages made. Every statement of each is explained, and none may read a table through.`,
  needs: ['PostgreSQL'],
  turns: { rounds: 9, seconds: 1 },
  run: (asked) =>
    closing(async (later): Promise<Measured> => {
      const { pool, version } = await durablePostgres(later)
      const now = Date.now()
      await migratePostgres({ pool })
      asked.say('writing five million records')
      await filled(pool, extent, now)
      asked.say('asking')
      const { pool: listening, sent } = recorded(pool)
      const kinds = effects(Object.fromEntries(kindNames.map((kind) => [kind, { call: async () => 'done' }])))
      const hapax = engine({ store: postgresStore({ pool: listening, connection: 'direct' }), effects: kinds })
      later(() => hapax.close())
      const actions = Object.entries(actionsOf(adminOf({ hapax }), groundOf(now)))
      const rows: Row[] = []
      for (const [name, action] of actions) rows.push({ name, ...(await measured(action, { pool, sent, asked })) })
      return { ...judged(rows), versions: { PostgreSQL: version } }
    }),
}

/** What came of one of them. What takes its time has none on record. */
interface Row {
  readonly name: string
  readonly times?: { readonly usualMs: number; readonly slowestMs: number; readonly firstMs: number }
  /** How often one of its statements reads a table through. */
  readonly scans: number
}

interface Around {
  readonly pool: pg.Pool
  readonly sent: Sent[]
  readonly asked: Asked
}

async function measured({ run, takes }: Action, { pool, sent, asked }: Around): Promise<Omit<Row, 'name'>> {
  const times: number[] = []
  sent.length = 0
  for (let round = 0; round <= asked.rounds; round++) {
    const startedAt = performance.now()
    await run()
    times.push(performance.now() - startedAt)
  }
  const byText = new Map(sent.map((statement) => [statement.text, statement]))
  let scans = 0
  for (const statement of byText.values())
    scans += scansOf(await planOf({ owner: pool }, statement, 'custom')).filter((scan) => large.test(scan)).length
  const [firstMs = 0, ...others] = times.map((ms) => Number(ms.toFixed(1)))
  return {
    scans,
    ...(takes === 'no time' && { times: { firstMs, usualMs: median(others), slowestMs: Math.max(...others) } }),
  }
}

function judged(rows: readonly Row[]): Omit<Measured, 'versions'> {
  const slowestMs = Math.max(...rows.map(({ times }) => times?.usualMs ?? 0))
  return {
    ratios: {
      [`slowest query / ${boundMs} ms`]: rounded(slowestMs / boundMs),
      'tables read through': rows.reduce((sum, { scans }) => sum + scans, 0),
    },
    tables: [
      {
        title: 'Milliseconds of a page',
        columns: ['what is asked', 'median', 'slowest', 'first', 'tables read through'],
        rows: rows.map(({ name, times, scans }) => {
          const { usualMs = '', slowestMs = '', firstMs = '' } = times ?? {}
          return [name, usualMs, slowestMs, firstMs, scans]
        }),
      },
    ],
    remarks: [
      'A reconciliation asks providers, and the audit log is verified by reading all of it: they have no bound.',
    ],
  }
}
