// A process without rights of its own: opens the file it is given as an ordinary user and tells the error it gets.
// The store's thread would have to read our code as that user too, so the migration, which has no thread, is run.
import { migrateSqlite } from 'hapax/sqlite'

const [path, user] = process.argv.slice(2)
const nobody = 65_534
const isRoot = process.getuid?.() === 0
if (isRoot && user !== 'same-user') {
  await migrateSqlite({ path: `${path}.warm-up` })
  process.setgid(nobody)
  process.setuid(nobody)
}
try {
  process.send(await migrateSqlite({ path }))
} catch ({ code, message }) {
  process.send({ code, message })
}
process.disconnect()
