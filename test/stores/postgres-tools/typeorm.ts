import { DataSource, type EntityManager, EntitySchema } from 'typeorm'
import { connectionsOfTool, firstOf, onServer, type ToolFixture } from './fixture.js'

interface Ride {
  readonly name: string
}

export const typeOrmFixture: ToolFixture<EntityManager> = {
  name: 'TypeORM',
  connections: 'many',
  async connect(place) {
    const { url, bench } = place
    const rides = new EntitySchema<Ride>({
      name: 'Ride',
      schema: bench.schema,
      tableName: 'rides',
      columns: { name: { type: 'text', primary: true } },
    })
    const handle = new DataSource({ type: 'postgres', url, entities: [rides], poolSize: connectionsOfTool })
    await handle.initialize()
    return onServer(place, {
      handle,
      ride: (tx, name) => tx.getRepository(rides).insert({ name }),
      nest: (tx, body) => tx.transaction(body),
      ask: async (tx, statement) => firstOf((await tx.query(statement))[0]),
      end: () => handle.destroy(),
    })
  },
}
