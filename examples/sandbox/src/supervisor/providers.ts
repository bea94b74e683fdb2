import { setTimeout as delay } from 'node:timers/promises'
import { StartRefused } from '../settings.js'
import { type Child, childOf } from './child.js'
import { restartsOf } from './restarts.js'

/** The simulated providers, as the API needs them. */
export interface Providers {
  /** Stays the same, whatever is killed. */
  readonly url: string
  /** The API serves here, and takes their webhooks. */
  sendEventsTo(apiUrl: string): Promise<void>
  stop(): Promise<void>
}

const endWithinMs = 3_000
const answerWithinMs = 5_000
/** How often it is looked whether somebody else's providers are still there. */
const lookEveryMs = 500

/** Those of somebody else, who starts and ends them: two nodes share one outside world. */
export function sharedProviders(url: string): Providers {
  return { url, sendEventsTo: (apiUrl) => register(url, apiUrl, 'POST'), stop: async () => undefined }
}

/**
 * Keeps providers running on a directory. Where another process serves it already, that one is used, and replaced on its
 * own port once it is gone.
 */
export async function keepProviders(directory: string): Promise<Providers> {
  const restarts = restartsOf('the process of the providers')
  const stopping = new AbortController()
  const pause = (ms: number) => delay(ms, undefined, { signal: stopping.signal }).catch(() => undefined)
  let child: Child | undefined
  let url: string | undefined

  async function start(): Promise<Told> {
    const port = url === undefined ? '0' : new URL(url).port
    child = childOf({ file: 'providers/main.js', args: ['--data', directory, '--port', port], stdout: 'ignore' })
    return toldOf(await child.told)
  }

  /** One life of the providers, ours or not. */
  async function live(told: Told): Promise<void> {
    if (told.kind === 'starting') return pause(lookEveryMs)
    if (told.kind === 'shared') {
      while (!stopping.signal.aborted && isAlive(told.pid)) await pause(lookEveryMs)
      return
    }
    const end = await child?.ended
    if (stopping.signal.aborted || end === undefined) return
    const pauseMs = restarts.after({ wasReady: told.kind === 'ours', how: end.how })
    if (pauseMs === undefined) stopping.abort()
    else await pause(pauseMs)
  }

  let told = await start()
  while (told.kind === 'starting') {
    await live(told)
    told = await start()
  }
  if (told.kind === 'ended') throw new StartRefused('The providers did not start: see above.')
  url = told.url
  console.error(`providers: ${url}, their ledgers are in ${directory}`)
  const kept = keepOn()

  async function keepOn(): Promise<void> {
    while (true) {
      await live(told)
      if (stopping.signal.aborted) return
      told = await start()
    }
  }

  const here = url
  return {
    url,
    sendEventsTo: (apiUrl) => register(here, apiUrl, told.kind === 'ours' ? 'PUT' : 'POST'),
    async stop() {
      stopping.abort()
      await child?.stop(endWithinMs)
      await kept
    },
  }
}

type Told =
  | { readonly kind: 'ours'; readonly url: string }
  | { readonly kind: 'shared'; readonly url: string; readonly pid: number }
  /** Somebody else's, which do not serve yet. */
  | { readonly kind: 'starting' }
  | { readonly kind: 'ended' }

function toldOf(message: unknown): Told {
  const { url, running } = (message ?? {}) as { url?: string; running?: { url: string; pid: number } | null }
  if (url !== undefined) return { kind: 'ours', url }
  if (running === undefined) return { kind: 'ended' }
  return running === null ? { kind: 'starting' } : { kind: 'shared', ...running }
}

const registering = { attempts: 10, pauseMs: 500 }

/** PUT where they are ours alone; POST where others take events, too. Providers that are just coming back are waited for. */
async function register(url: string, apiUrl: string, method: 'PUT' | 'POST'): Promise<void> {
  // Who listens on every address listens on the one that is ours alone.
  const target = apiUrl.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
  let why: unknown
  for (let attempt = 0; attempt < registering.attempts; attempt++) {
    try {
      for (const provider of ['airtm', 'trustless-work']) {
        const body = JSON.stringify({ provider, urls: [`${target}/webhooks/${provider}`] })
        const signal = AbortSignal.timeout(answerWithinMs)
        const { ok, status } = await fetch(`${url}/_providers/webhooks`, { method, body, signal })
        if (!ok) throw new Error(`they answered ${status}`)
      }
      return
    } catch (error) {
      why = error
      await delay(registering.pauseMs, undefined, { ref: false })
    }
  }
  console.error('the providers do not know where to send their webhooks:', why instanceof Error ? why.message : why)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
