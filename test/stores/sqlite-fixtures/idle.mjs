// A process that opens a store, uses it, forgets to close it, and has nothing more to do.
import { sqliteStore } from 'hapax/sqlite'

const [path] = process.argv.slice(2)
const store = sqliteStore({ path })
await store.list({ limit: 1 })
process.send('idle')
process.disconnect()
