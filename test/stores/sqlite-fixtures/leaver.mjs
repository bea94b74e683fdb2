// A process that calls `process.exit(7)` while its store is in the midst of reading many rows.
import { sqliteStore } from 'hapax/sqlite'

const [path] = process.argv.slice(2)
const store = sqliteStore({ path })
await store.open()
const many = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200000) SELECT x, hex(x) FROM n'
const reading = store.query({ sql: many })
reading.catch(() => {})
process.send('working', () => setTimeout(() => process.exit(7), 20))
