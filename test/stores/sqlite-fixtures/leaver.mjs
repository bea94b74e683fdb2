// A process that calls `process.exit(7)` while its store is in the midst of a statement that takes a while.
import { sqliteStore } from 'hapax/sqlite'

const [path] = process.argv.slice(2)
const store = sqliteStore({ path })
await store.open()
const slow = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000000) SELECT count(*) FROM n'
store.query({ sql: slow }).catch(() => {})
process.send('working', () => setTimeout(() => process.exit(7), 50))
