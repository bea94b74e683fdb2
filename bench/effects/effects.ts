import { migratePostgres } from '../../dist/stores/postgres/index.js'
import type { Bench, Measured } from '../harness/bench.js'
import { start } from '../harness/child.js'
import { closing } from '../harness/closing.js'
import { durablePostgres } from '../harness/postgres.js'
import { ratioOf, takeTurns, usual } from '../harness/turns.js'
import { versionOf } from '../harness/version.js'
import type { Settings } from './app.mjs'

const count = 5_000
const batch = 256
const who = { hapax: 'Hapax', 'pg-boss': 'pg-boss' } as const

export const effects: Bench = {
  name: 'effects',
  measures: 'how many effects one worker carries out per second on PostgreSQL, beside pg-boss',
  how: `Each effect is claimed, called (the provider answers at once) and settled. Beside it pg-boss does what comes nearest, fetch and
complete, with as many batches of the same size in hand, on the same server: ${count.toLocaleString('en')} a turn in batches of ${batch}.`,
  needs: ['PostgreSQL'],
  turns: { rounds: 9, seconds: 1 },
  run: (asked) =>
    closing(async (later): Promise<Measured> => {
      const { url, version, pool } = await durablePostgres(later)
      await migratePostgres({ pool })
      const names = Object.keys(who) as (keyof typeof who)[]
      const settings = (name: keyof typeof who): Settings => ({ url, who: name, count, batch })
      const apps = names.map((name) => start(new URL('app.mjs', import.meta.url), { settings: settings(name), later }))
      const series = await takeTurns(
        names.map((name, at) => ({ name, turn: async () => Number(await apps[at]?.ask({ kind: 'carry out' })) })),
        {
          ...asked,
          between: async () => {
            for (const app of apps) await app.ask({ kind: 'write' })
            await pool.query('VACUUM ANALYZE')
          },
        },
      )
      return {
        ratios: { 'hapax / pg-boss': ratioOf(series, ['hapax', 'pg-boss'], (perSecond) => perSecond) },
        tables: [
          {
            title: 'Carried out by one worker',
            columns: ['who', 'per second'],
            rows: names.map((name) => [who[name], usual(series, name, (perSecond) => perSecond)]),
            chart: { name: 'effects', group: 'who', value: 'per second', others: [who['pg-boss']] },
          },
        ],
        versions: { PostgreSQL: version, 'pg-boss': versionOf('pg-boss') },
        remarks: [],
      }
    }),
}
