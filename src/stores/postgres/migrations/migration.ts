/** One numbered change of the schema. Once released it is never edited: a test pins the hash of each. */
export interface Migration {
  readonly version: number
  readonly name: string
  /** Statement by statement, as a pooler wants them. `schema` is a quoted identifier. */
  readonly sql: (schema: string) => readonly string[]
}
