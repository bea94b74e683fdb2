/**
 * A client library by shape: a `pg` Pool is handed in and never imported. The store needs two things of it: one
 * statement on any connection, and several on one. No statement is prepared under a name.
 */
export interface Connections<Tx> {
  query(text: string, values: readonly unknown[]): Promise<Rows>
  /** One connection for as long as `use` lasts. A connection on which something failed is not used again. */
  session<T>(use: (session: Session<Tx>) => Promise<T>): Promise<T>
}

export interface Session<Tx> {
  /** What the application is handed to write its own rows with. */
  readonly tx: Tx
  query(text: string, values: readonly unknown[]): Promise<Rows>
}

export type Rows = readonly Readonly<Record<string, unknown>>[]

/** A `pg` Pool. */
export interface PgPool<Client extends PgClient = PgClient> {
  query(text: string, values: unknown[]): Promise<{ readonly rows: unknown[] }>
  connect(): Promise<Client>
}

export interface PgClient {
  query(text: string, values: unknown[]): Promise<{ readonly rows: unknown[] }>
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

export function pgConnections<Client extends PgClient>(pool: PgPool<Client>): Connections<Client> {
  const rowsOf = async (asked: Promise<{ readonly rows: unknown[] }>) => (await asked).rows as Rows
  return {
    query: (text, values) => rowsOf(pool.query(text, [...values])),
    async session(use) {
      const client = await pool.connect()
      // A connection may be lost between two statements. The next one says so; an event that nobody hears ends a process.
      client.on('error', ignore)
      try {
        const result = await use({ tx: client, query: (text, values) => rowsOf(client.query(text, [...values])) })
        client.off('error', ignore)
        client.release()
        return result
      } catch (error) {
        client.release(true)
        throw error
      }
    },
  }
}

function ignore(): void {}
