// One of several processes that migrate the same file. Says `ready`, waits for `go`, and tells what it applied.
import { migrateSqlite } from 'hapax/sqlite'

const [path] = process.argv.slice(2)
process.send('ready')
await new Promise((resolve) => process.once('message', resolve))
const { migrations } = await migrateSqlite({ path })
process.send(migrations)
process.disconnect()
