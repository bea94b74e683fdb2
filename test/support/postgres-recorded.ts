import type { PgClient, PgPool } from 'hapax/postgres'
import type pg from 'pg'

/** A statement as the store sent it. */
export interface Sent {
  readonly text: string
  readonly values: readonly unknown[]
}

/** The same connections, and every statement of ours that passed through them. Those of a transaction's frame are left out. */
export function recorded(pool: pg.Pool): { readonly pool: PgPool; readonly sent: Sent[] } {
  const sent: Sent[] = []
  const connect = async (): Promise<PgClient> => {
    const client = await pool.connect()
    return {
      query(config) {
        const { text, values = [] } = config
        if (!/^(BEGIN|SAVEPOINT|COMMIT|ROLLBACK|SELECT set_config)/.test(text)) sent.push({ text, values })
        return client.query(config)
      },
      release: (error) => client.release(error),
      on: (event, listener) => client.on(event, listener),
      off: (event, listener) => client.off(event, listener),
    }
  }
  return { pool: { connect }, sent }
}
