/**
 * What the guard costs: the same route of Fastify, bare and guarded by a memory store, asked by the same callers with
 * the same requests. Once with new keys, which run, and once with known keys, which are replayed. The two take turns,
 * because a shared machine is not as fast now as a second ago; each round has servers of its own, so that what a memory
 * store keeps stays bounded.
 */
import { cpus } from 'node:os'
import { script } from '../../scripts/parts.mjs'
import { run } from '../../scripts/processes.mjs'
import { median } from '../median.js'
import { type Child, start } from './child.js'
import type { Load, Loaded } from './client.js'
import type { Usage } from './server.mjs'

const rounds = 5
const seconds = 2
/** In so many slices, between which the sites take turns: a shared machine drifts within a round, too. */
const slices = 4
/** By number: on a busy machine a second is not enough to compile all of it. All known keys are among them. */
const warmUpRequests = 10_000
/** What each ratio should reach. */
const aim = 0.75

interface Measured {
  readonly perSecond: number
  /** Processor time of the server for one request: on a busy machine it says more than the clock. */
  readonly serverUs: number
  /** How much of one processor the callers took. Near 1 it is they who are measured. */
  readonly clientShare: number
}

interface Site {
  readonly name: 'bare' | 'guarded'
  readonly server: Child
  readonly client: Child
}

export async function http(): Promise<{ readonly ratios: Readonly<Record<string, number>> }> {
  if (!(await run(script('build'), { stdout: process.stderr }))) throw new Error('The build failed: see above.')
  const { model = 'unknown' } = cpus()[0] ?? {}
  console.log(
    `Node.js ${process.version}, ${cpus().length} × ${model.trim()}; memory store, body of 200 bytes, 64 callers;`,
  )
  console.log(
    `${seconds} s each after ${warmUpRequests} requests of each kind, median of ${rounds} rounds, taking turns`,
  )
  const series = new Map<string, Measured[]>()
  for (let round = 0; round < rounds; round++) {
    for (const [name, measured] of await roundOf(round)) series.set(name, [...(series.get(name) ?? []), measured])
  }
  return { ratios: report(series) }
}

async function roundOf(round: number): Promise<readonly (readonly [name: string, measured: Measured])[]> {
  const client = start('client.ts')
  const names = round % 2 === 0 ? (['bare', 'guarded'] as const) : (['guarded', 'bare'] as const)
  const sites = names.map((name): Site => ({ name, server: start('server.mjs', name), client }))
  const results: [string, Measured][] = []
  try {
    for (const site of sites) await warmUp(site)
    for (const keys of ['new', 'known'] as const) {
      const sliced = sites.map((): Measured[] => [])
      for (let slice = 0; slice < slices; slice++) {
        for (const [index, site] of sites.entries()) sliced[index]?.push(await measured(site, keys))
      }
      for (const [index, site] of sites.entries()) results.push([`${site.name} ${keys}`, meanOf(sliced[index] ?? [])])
    }
    return results
  } finally {
    client.end()
    for (const { server } of sites) server.end()
  }
}

/** New keys and known ones, all of which the server has seen after this. */
async function warmUp(site: Site): Promise<void> {
  await asked(site, { keys: 'new', marked: 'no', seconds: 0, atLeast: warmUpRequests })
  await asked(site, { keys: 'known', marked: 'either', seconds: 0, atLeast: warmUpRequests })
}

async function measured(site: Site, keys: Load['keys']): Promise<Measured> {
  const marked = site.name === 'guarded' && keys === 'known' ? 'as a replay' : 'no'
  return asked(site, { keys, marked, seconds: seconds / slices, atLeast: 0 })
}

function meanOf(measured: readonly Measured[]): Measured {
  const mean = (of: keyof Measured) => measured.reduce((sum, one) => sum + one[of], 0) / measured.length
  return { perSecond: mean('perSecond'), serverUs: mean('serverUs'), clientShare: mean('clientShare') }
}

async function asked({ name, server, client }: Site, load: Omit<Load, 'port'>): Promise<Measured> {
  const { port, cpuMs: beforeMs } = await server.ask<Usage>({})
  const { requests, perSecond, cpuMs, wrong } = await client.ask<Loaded>({ ...load, port })
  if (wrong !== undefined) throw new Error(`The ${name} server gave a wrong answer to a ${load.keys} key:\n${wrong}`)
  const { cpuMs: afterMs } = await server.ask<Usage>({})
  return {
    perSecond,
    serverUs: ((afterMs - beforeMs) * 1_000) / requests,
    clientShare: (cpuMs * perSecond) / requests / 1_000,
  }
}

function report(series: ReadonlyMap<string, readonly Measured[]>): Readonly<Record<string, number>> {
  const usual = (name: string, of: keyof Measured) => median((series.get(name) ?? []).map((measured) => measured[of]))
  const ratios: Record<string, number> = {}
  for (const keys of ['new', 'known'] as const) {
    for (const name of [`bare ${keys}`, `guarded ${keys}`]) {
      const perSecond = usual(name, 'perSecond').toFixed(0).padStart(7)
      const serverUs = usual(name, 'serverUs').toFixed(1).padStart(6)
      const share = (100 * usual(name, 'clientShare')).toFixed(0)
      console.log(
        `${name.padEnd(14)} ${perSecond} /s   server ${serverUs} µs per request   callers ${share} % of a processor`,
      )
    }
    const ratio = usual(`guarded ${keys}`, 'perSecond') / usual(`bare ${keys}`, 'perSecond')
    const label = keys === 'new' ? 'new keys' : 'replays'
    const work = usual(`bare ${keys}`, 'serverUs') / usual(`guarded ${keys}`, 'serverUs')
    const judged = ratio >= aim ? '' : `, below the aim of ${aim}`
    console.log(
      `${label}: ${ratio.toFixed(2)} of bare Fastify by the clock, ${work.toFixed(2)} by processor time${judged}`,
    )
    ratios[label] = Number(ratio.toFixed(3))
  }
  return ratios
}
