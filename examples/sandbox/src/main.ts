import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { isHapaxError } from 'hapax'
import { addRoutes } from './routes.js'
import { closeSandbox, openSandbox, startSandboxWorkers } from './sandbox.js'
import { type Settings, StartRefused, settingsFrom } from './settings.js'
import { stopOnSignal } from './stopping.js'
import { webApp } from './web/web-app.js'

/** The sandbox as a program: opens its data, serves, says so in one line, and stops when it is told to. */
async function start(): Promise<void> {
  const settings = settingsFrom(process.env)
  const sandbox = await openSandbox(settings)
  const app = webApp()
  addRoutes(app, sandbox)
  const workers = startSandboxWorkers(sandbox)
  stopOnSignal(app, () => closeSandbox(sandbox, workers))
  await listen(app, settings)
  console.error(`database: ${sandbox.database.name}`)
  if (sandbox.partners === undefined)
    console.error('providers: none, so that payments are recorded and nobody is charged')
  console.log(`ready ${addressOf(app)}`)
  // To the supervisor, if there is one.
  process.send?.({ ready: addressOf(app) })
}

async function listen(app: FastifyInstance, { host, port }: Settings): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartRefused(
      `Cannot serve there (${why}). Give a free port in PORT (0 takes any), an own address in HOST.`,
    )
  }
}

function addressOf({ server }: FastifyInstance): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

start().catch((error: unknown) => {
  // A known reason fits on a line and says what to do; anything else is a bug, and its stack is wanted.
  const isKnown = error instanceof StartRefused || isHapaxError(error)
  console.error('cannot start:', isKnown ? error.message.replaceAll('\n', ' ') : error)
  process.exit(1)
})
