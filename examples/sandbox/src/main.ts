import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isHapaxError } from 'hapax'
import { route } from './routes.js'
import { closeSandbox, openSandbox } from './sandbox.js'
import { replyServer } from './server.js'
import { type Settings, StartRefused, settingsFrom } from './settings.js'
import { stopOnSignal } from './stopping.js'

/** The sandbox as a program: opens its data, serves, says so in one line, and stops when it is told to. */
async function start(): Promise<void> {
  const settings = settingsFrom(process.env)
  const sandbox = await openSandbox(settings)
  const server = replyServer((request) => route(sandbox, request))
  stopOnSignal(server, () => closeSandbox(sandbox))
  await listen(server, settings)
  console.error(`database: ${sandbox.database.name}`)
  console.log(`ready ${addressOf(server)}`)
}

async function listen(server: Server, { host, port }: Settings): Promise<void> {
  try {
    await once(server.listen(port, host), 'listening')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartRefused(
      `Cannot serve there (${why}). Give a free port in PORT (0 takes any), an own address in HOST.`,
    )
  }
}

function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

start().catch((error: unknown) => {
  // A known reason fits on a line and says what to do; anything else is a bug, and its stack is wanted.
  const isKnown = error instanceof StartRefused || isHapaxError(error)
  console.error('cannot start:', isKnown ? error.message.replaceAll('\n', ' ') : error)
  process.exit(1)
})
