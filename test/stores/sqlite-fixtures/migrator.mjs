// One of several processes that migrate the same files. Says `ready`, waits for `go`, and tells what it applied.
import { migrateSqlite } from 'hapax/sqlite'

const [first, ...paths] = process.argv.slice(2)
await migrateSqlite({ path: `${first}.${process.pid}` }) // Everything is loaded before the race.
process.send('ready')
await new Promise((resolve) => process.once('message', resolve))
for (const path of [first, ...paths]) {
  const { migrations } = await migrateSqlite({ path })
  process.send({ path, migrations })
}
process.disconnect()
