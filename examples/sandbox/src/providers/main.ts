import { mkdirSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { takeDirectory } from './only-one.js'
import { serverOf } from './server.js'
import { openWorld } from './world.js'

/** The providers as a program: `main.js --data DIRECTORY --port 0`. It says where it serves in one line of JSON. */

/** Ends with this where another process serves the directory. */
const takenCode = 3
/** How long a clean end waits for answers that are on their way. */
const leaveWithinMs = 1_000

async function start(): Promise<void> {
  const { values } = parseArgs({ options: { data: { type: 'string' }, port: { type: 'string', default: '0' } } })
  if (values.data === undefined) throw new Error('say where the ledgers are: --data DIRECTORY')
  mkdirSync(values.data, { recursive: true })
  const directory = takeDirectory(values.data)
  if (directory.kind === 'taken') {
    say({ running: directory.by ?? null })
    process.exitCode = takenCode
    if (process.connected) process.disconnect()
    return
  }
  const world = await openWorld(values.data, giveUp)
  const server = serverOf(world)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(Number(values.port), '127.0.0.1', resolve)
  })

  let isStopping = false
  const stop = () => {
    if (isStopping) return
    isStopping = true
    server.close()
    server.closeIdleConnections()
    const finish = async () => {
      server.closeAllConnections()
      await world.close()
      process.exit(0)
    }
    // A request that shall never be answered would hold it up for ever.
    setTimeout(() => void finish().catch(giveUp), leaveWithinMs)
    server.once('close', () => void finish().catch(giveUp))
  }
  process.on('SIGTERM', stop)
  // Who pressed Ctrl-C wants the API to finish first; it needs us for that, and whoever started both tells us when.
  process.on('SIGINT', process.connected ? () => undefined : stop)
  process.on('disconnect', stop)

  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  directory.announce(url)
  say({ url, pid: process.pid })
}

/** To the parent, if it listens, and to people. */
function say(message: object): void {
  console.log(JSON.stringify(message))
  if (process.connected) process.send?.(message)
}

/** What cannot be written down must not be done: nobody is answered any more. */
function giveUp(error: unknown): never {
  console.error('the providers end:', error instanceof Error ? error.message : error)
  process.exit(1)
}

start().catch(giveUp)
