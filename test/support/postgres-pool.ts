import pg from 'pg'

/**
 * Connections to a server, or a database, that may go with the test. A pool has ended before its connections have, and what
 * a server that stops still says on them would be an error that nobody hears.
 */
export function poolOn(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, ...options })
  pool.on('error', () => undefined)
  return pool
}
