import knex, { type Knex } from 'knex'
import { firstOf, onServer, type ToolFixture } from './fixture.js'

export const knexFixture: ToolFixture<Knex.Transaction> = {
  name: 'Knex',
  connections: 'many',
  async connect(url, bench) {
    const handle = knex.knex({ client: 'pg', connection: url, pool: { min: 0, max: 2 } })
    return onServer(url, bench, {
      handle,
      ride: async (tx, name) => tx.withSchema(bench.schema).insert({ name }).into('rides'),
      ask: async (tx, statement) => firstOf((await tx.raw(statement)).rows[0]),
      end: () => handle.destroy(),
    })
  },
}
