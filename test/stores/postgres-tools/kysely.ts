import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely'
import { firstOf, onServer, poolOfTool, type ToolFixture } from './fixture.js'

interface Tables {
  readonly rides: { readonly name: string }
}

export const kyselyFixture: ToolFixture<Transaction<Tables>> = {
  name: 'Kysely',
  connections: 'many',
  async connect(place) {
    const { url, bench } = place
    const handle = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: poolOfTool(url) }) })
    return onServer(place, {
      handle,
      ride: (tx, name) => tx.withSchema(bench.schema).insertInto('rides').values({ name }).execute(),
      ask: async (tx, statement) => firstOf((await tx.executeQuery(CompiledQuery.raw(statement))).rows[0]),
      end: () => handle.destroy(),
    })
  },
}
