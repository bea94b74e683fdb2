import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { StartRefused, settingsFrom } from '../settings.js'
import { keepApi } from './api.js'
import { keepProviders, type Providers, sharedProviders } from './providers.js'

/**
 * What `npm start` runs: the parent of two processes, the providers and the API. It starts again whichever of them is
 * killed, on its old port, and ends both when it is told to end. Should it be killed itself, they notice and end; so does it
 * with a parent that holds a channel to it.
 */
async function start(): Promise<void> {
  const { providersUrl } = settingsFrom(process.env)
  const stopping = new AbortController()
  const signals: NodeJS.Signals[] = []
  let pass = (signal: NodeJS.Signals): void => {
    signals.push(signal)
  }
  const stop = (signal: NodeJS.Signals) => {
    stopping.abort()
    pass(signal)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop(signal))
  // Whoever started us to end with them is gone: killed, perhaps, and could not say so.
  process.once('disconnect', () => stop('SIGTERM'))

  const providers = providersUrl === undefined ? await ownProviders() : sharedProviders(providersUrl)
  const api = keepApi(providers, stopping.signal)
  pass = api.pass
  signals.forEach(pass)
  const code = await api.ended
  await providers.stop()
  process.exit(code)
}

async function ownProviders(): Promise<Providers> {
  const directory = join(process.env.HAPAX_DATA_DIR || '.hapax', 'providers')
  try {
    mkdirSync(directory, { recursive: true })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartRefused(`The data directory cannot be created (${why}). Give another one in HAPAX_DATA_DIR.`)
  }
  return keepProviders(directory)
}

start().catch((error: unknown) => {
  console.error('cannot start:', error instanceof StartRefused ? error.message : error)
  process.exit(1)
})
