import type { CompiledQuery, SchemaModule } from 'kysely'
import { createPaymentsTable } from '../payments/payments.js'
import { createRidesTable } from '../rides/rides.js'

/** Every table of the sandbox, created where it is missing. */
export function createTables(schema: SchemaModule): readonly CompiledQuery[] {
  return [createPaymentsTable(schema), createRidesTable(schema)]
}
