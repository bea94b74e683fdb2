import type { StoredRecord } from '../../../src/engine/record.js'
import type { Order, Program } from '../application.js'
import type { Told } from '../client.js'
import type { SimulatedDatabase } from '../database/database.js'
import type { Provider } from '../provider.js'
import type { Reached } from '../reached.js'
import type { World } from '../world/world.js'

/** What the judges look at. */
export interface Judged {
  readonly world: World
  readonly database: SimulatedDatabase
  readonly provider: Provider
  readonly heard: readonly Told[]
  /** Who has sent something, and has heard neither what came of it nor that its line broke. */
  readonly waiting: ReadonlySet<string>
  readonly requests: readonly { readonly program: Program; readonly order: Order }[]
  readonly duplicates: 'reject' | 'wait'
  /** Where requests share statements, or one goes on when another ends, nobody can say which of them wrote a row. */
  readonly work: 'own' | 'shared'
  /** What is noted while something can still go wrong; `undefined` afterwards. */
  readonly reached: () => Reached | undefined
  /** What takes days is noted whenever it comes. */
  readonly atAnyTime: Reached
}

/** What its key stands for now. */
export function recordOf({ tables }: SimulatedDatabase, { tenant, key }: Order): StoredRecord | undefined {
  return tables.records.get(`${tenant}\n${key}`)?.committed?.record
}
