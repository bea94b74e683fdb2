// One of several processes that open the same new files. Says `ready`, waits for `go`, and tells of each it opened.
import { sqliteStore } from 'hapax/sqlite'

const paths = process.argv.slice(2)
const stores = paths.map((path) => sqliteStore({ path }))
process.send('ready')
await new Promise((resolve) => process.once('message', resolve))
for (const [index, store] of stores.entries()) {
  await store.open()
  process.send(paths[index])
  await store.close()
}
process.disconnect()
