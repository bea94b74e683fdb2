import { type Child, start } from '../harness/child.js'
import type { Later } from '../harness/closing.js'
import type { ServerTime } from '../harness/server-time.js'
import type { Wanted as Load, Loaded } from './client.mjs'
import { knownKeys } from './known-keys.mjs'
import type { Settings, Usage, Wanted } from './server.mjs'

/** A server with somebody who calls it. */
export interface Site {
  readonly name: string
  readonly path: string
  /** Of the answer to a new key. */
  readonly status: number
  readonly server: Child
  readonly client: Child
  /** Of the database behind it. */
  readonly databaseMs?: ServerTime | undefined
}

export interface Served {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Processor time of the server for one request: on a busy machine it says more than the clock. */
  readonly serverUs: number
  /** The same of the database behind it; NaN where there is none, or nobody can say. */
  readonly databaseUs: number
  /** How much of one processor the callers took. Near 1 it is they who are measured. */
  readonly clientShare: number
}

interface Around {
  /** Of the PostgreSQL that it may be on. */
  readonly url: string
  readonly databaseMs?: ServerTime
  readonly client: Child
  readonly later: Later
  readonly execArgv?: readonly string[]
  readonly watcher?: NonNullable<Settings['watcher']>
}

/** Callers, for any number of sites that are asked one at a time. */
export function startedClient(later: Later): Child {
  return start(new URL('client.mjs', import.meta.url), { later })
}

export function startedSite(
  site: Settings['site'],
  { url, databaseMs, client, later, execArgv = [], watcher = 'nobody' }: Around,
): Site {
  const settings: Settings = { site, url, watcher }
  const server = start(new URL('server.mjs', import.meta.url), { settings, later, execArgv })
  return { name: site, path: '/payments', status: 201, server, client, databaseMs }
}

type Asked = Omit<Load, 'kind' | 'target' | 'status'> & { readonly bodyBytes: number; readonly status?: number }

/** A wrong answer ends the bench: nothing that is measured with it would mean anything. */
export async function called(site: Site, { bodyBytes, ...load }: Asked): Promise<Served> {
  const { port, cpuMs: before } = await usage(site)
  const databaseMs = site.databaseMs?.() ?? (() => Number.NaN)
  const target = { port, path: site.path, bodyBytes }
  const wanted: Load = { status: site.status, ...load, kind: 'load', target }
  const { requests, perSecond, p50Ms, p99Ms, cpuMs, wrong } = await site.client.ask<Loaded>(wanted)
  if (wrong !== undefined)
    throw new Error(`${site.name} gave a wrong answer to a ${load.keys} key:\n${wrong.slice(0, 600)}`)
  const { cpuMs: after } = await usage(site)
  return {
    perSecond,
    p50Ms,
    p99Ms,
    serverUs: ((after - before) * 1_000) / requests,
    databaseUs: (databaseMs() * 1_000) / requests,
    clientShare: (cpuMs * perSecond) / requests / 1_000,
  }
}

/** By number: on a busy machine a second is not enough to compile all of it. */
const warmUpRequests = 5_000

/**
 * New keys and known ones, all of which the server has seen after this. Those are asked for once each first: who comes to a key
 * again while a busy machine still has its first request would get a conflict.
 */
export async function warmedUp(site: Site, bodyBytes: number): Promise<void> {
  const load = { bodyBytes, callers: 64, seconds: 0, repeats: 'any' } as const
  await called(site, { ...load, keys: 'new', atLeast: warmUpRequests })
  await called(site, { ...load, keys: 'known', atLeast: knownKeys })
  await called(site, { ...load, keys: 'known', atLeast: warmUpRequests })
}

export function usage({ server }: Pick<Site, 'server'>, kind: Wanted['kind'] = 'usage'): Promise<Usage> {
  return server.ask<Usage>({ kind } satisfies Wanted)
}
