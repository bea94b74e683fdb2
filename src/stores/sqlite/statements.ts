import type { Connection } from './connection.js'
import type { Prepared } from './driver.js'

/** Statements, each prepared once. The number of texts is small: one for each set of columns that changes together. */
export type Statements<Row> = (sql: string) => Prepared<Row>

export function statementsOn<Row>(connection: Connection): Statements<Row> {
  const known = new Map<string, Prepared<Row>>()
  return (sql) => {
    const statement = known.get(sql) ?? connection.prepare<Row>(sql)
    known.set(sql, statement)
    return statement
  }
}
