/** The stores: each with how the application writes a row in its transactions, and its clock. A victim loads but one. */

/** @typedef {{ path: string }} Sqlite */
/** @typedef {{ url: string, schema: string, batching: 'on' | 'off' }} Postgres */

/** @param {({ kind: 'sqlite' } & Sqlite) | ({ kind: 'postgres' } & Postgres)} given */
export function openStore(given) {
  return given.kind === 'sqlite' ? onSqlite(given) : onPostgres(given)
}

/** @param {Sqlite} given */
async function onSqlite({ path }) {
  const { sqliteStore } = await import('hapax/sqlite')
  const { pinSqliteClock } = await import('../../../dist/stores/sqlite/testing.js')
  return {
    store: sqliteStore({ path }),
    /** @param {any} tx @param {string} table @param {string} name */
    async insert(tx, table, name) {
      const sql = `INSERT INTO ${table} (name) VALUES (?) RETURNING id`
      const { rows } = await tx.run({ sql, parameters: [name] })
      return { id: Number(rows[0].id) }
    },
    /** @param {number} ms */
    setTime: (ms) => pinSqliteClock(path, ms),
    end: async () => {},
  }
}

/** @param {Postgres} given */
async function onPostgres({ url, schema, batching }) {
  const { postgresStore } = await import('hapax/postgres')
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: url, max: 4, application_name: schema })
  return {
    store: postgresStore({ pool, schema, batching, connection: 'direct' }),
    /** @param {any} tx @param {string} table @param {string} name */
    async insert(tx, table, name) {
      const { rows } = await tx.query(`INSERT INTO ${schema}.${table} (name) VALUES ($1) RETURNING id`, [name])
      return { id: Number(rows[0].id) }
    },
    /** @param {number} ms */
    setTime: (ms) =>
      pool
        .query(`CREATE OR REPLACE FUNCTION ${schema}.clock() RETURNS timestamptz LANGUAGE sql STABLE
        AS $$ SELECT timestamptz 'epoch' + ${ms} * interval '1 millisecond' $$`)
        .then(() => {}),
    end: () => pool.end(),
  }
}
