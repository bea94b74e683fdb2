/** The survivor: a process that does what those before it were killed at, one job as JSON per line, and says what came of it. */
import { createInterface } from 'node:readline'
import { play } from './support/play.mjs'

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...job } = JSON.parse(line)
  play(job).then(
    (came) => say({ id, came }),
    (error) => say({ id, complaint: String(error?.stack ?? error) }),
  )
}

/** @param {object} what */
function say(what) {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}
