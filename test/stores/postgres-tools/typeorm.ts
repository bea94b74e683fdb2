import { DataSource, type EntityManager, EntitySchema } from 'typeorm'
import { firstOf, onServer, type ToolFixture } from './fixture.js'

interface Ride {
  readonly name: string
}

export const typeOrmFixture: ToolFixture<EntityManager> = {
  name: 'TypeORM',
  connections: 'many',
  async connect(url, bench) {
    const rides = new EntitySchema<Ride>({
      name: 'Ride',
      schema: bench.schema,
      tableName: 'rides',
      columns: { name: { type: 'text', primary: true } },
    })
    const handle = new DataSource({ type: 'postgres', url, entities: [rides], poolSize: 2 })
    await handle.initialize()
    return onServer(url, bench, {
      handle,
      ride: (tx, name) => tx.getRepository(rides).insert({ name }),
      ask: async (tx, statement) => firstOf((await tx.query(statement))[0]),
      end: () => handle.destroy(),
    })
  },
}
