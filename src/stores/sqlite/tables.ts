import { type AuditTable, auditTable } from './audit/audit-table.js'
import { type CallTable, callTable } from './calls/call-table.js'
import type { Connection } from './connection.js'
import { type EffectTable, effectTable } from './effects/effect-table.js'
import { type EventTable, eventTable } from './inbox/event-table.js'
import { type Measurement, measurement } from './measurement.js'
import { type RecordTable, recordTable } from './record-table.js'

/** All that is kept. */
export interface Tables {
  readonly records: RecordTable
  readonly effects: EffectTable
  readonly calls: CallTable
  readonly events: EventTable
  readonly measurement: Measurement
  readonly audit: AuditTable
}

export function tablesOn(connection: Connection): Tables {
  return {
    records: recordTable(connection),
    effects: effectTable(connection),
    calls: callTable(connection),
    events: eventTable(connection),
    measurement: measurement(connection),
    audit: auditTable(connection),
  }
}
