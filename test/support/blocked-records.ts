import type pg from 'pg'

/** Nobody reads or writes a record of this schema meanwhile. */
export async function whileBlocked<T>(owner: pg.Pool, schema: string, body: () => Promise<T>): Promise<T> {
  const rival = await owner.connect()
  try {
    await rival.query('BEGIN')
    await rival.query(`LOCK TABLE ${schema}.records IN ACCESS EXCLUSIVE MODE`)
    return await body()
  } finally {
    await rival.query('ROLLBACK')
    rival.release()
  }
}
