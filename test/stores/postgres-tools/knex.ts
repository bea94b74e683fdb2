import knex, { type Knex } from 'knex'
import { connectionsOfTool, firstOf, onServer, type ToolFixture } from './fixture.js'

export const knexFixture: ToolFixture<Knex.Transaction> = {
  name: 'Knex',
  connections: 'many',
  async connect(place) {
    const { url, bench } = place
    const handle = knex.knex({ client: 'pg', connection: url, pool: { min: 0, max: connectionsOfTool } })
    return onServer(place, {
      handle,
      ride: async (tx, name) => tx.withSchema(bench.schema).insert({ name }).into('rides'),
      nest: async (tx, body) => tx.transaction(body),
      ask: async (tx, statement) => firstOf((await tx.raw(statement)).rows[0]),
      end: () => handle.destroy(),
    })
  },
}
