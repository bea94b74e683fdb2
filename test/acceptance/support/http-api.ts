import {
  type Clock,
  contractOf,
  type Engine,
  type EngineOptions,
  engine,
  errorsPage,
  openApiOf,
  profiles,
  type Rate,
  type Store,
  systemClock,
} from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { onTestFinished } from 'vitest'
import { type FaultyStore, faultyStore } from '../../support/faulty-store.js'
import { toldNames } from '../../support/told.js'
import type { Row } from './database.js'
import { type Page, type ServedApi, serving } from './http-api-adapters.js'
import { type Asked, ask, type Got, json, type RouteSketch } from './http-site.js'
import { type Heard, testFile } from './test-file.js'

/**
 * An API as its owner sets it up by one of the published adapters, on a real port and a real SQLite file: authentication,
 * guarded routes behind it, the status of a key, and the published contract.
 */
export interface Api {
  readonly port: number
  readonly path: string
  readonly hapax: Engine<never>
  /** The steps that its store was asked for. */
  readonly asked: FaultyStore['asked']
  readonly heard: Heard[]
  ask(asked?: Asked): Promise<Got>
  /** Asks how a key stands. */
  status(asked?: Asked): Promise<Got>
  /** Reads what is published. */
  read(path: string): Promise<Got>
  runs(): number
  rows(): Row[]
  row(key: string): Row
  reap(): Promise<unknown>
  /** Sets the date for everybody: the store and the engine. */
  setTime(ms: number): Promise<void>
  /** Lets time pass for the engine's timers. */
  pass(ms: number): void
}

export interface ApiSketch {
  readonly engine?: Pick<EngineOptions<never>, 'quotas' | 'replays'>
  /** How often a scope may ask for the state of its keys. */
  readonly statusLimit?: Rate
  readonly scopedBy?: string
  /** Who is let in at all. */
  readonly admits?: (header: (name: string) => string | undefined) => boolean
  readonly routes?: readonly RouteSketch[]
}

export async function api(adapter: string, sketch: ApiSketch = {}): Promise<Api> {
  const file = await testFile()
  const { clock, time } = clockInHand()
  const faults = faultyStore(sqliteStore({ path: file.path }) as unknown as Store)
  const hapax = engine<never>({ store: faults.store, clock, log: () => {}, ...sketch.engine })
  const heard: Heard[] = []
  for (const name of toldNames) hapax.on(name, (event) => heard.push({ name, event }))
  let runs = 0
  const routes = (sketch.routes ?? [{}]).map(({ options, handler = paid, ...rest }, index) => ({
    path: '/payments',
    scope: tenant,
    ...rest,
    options: { name: `operation-${index}`, ...options },
    handler: async (body: Uint8Array) => handler(++runs, body),
  }))
  const profile = sketch.routes?.[0]?.options?.profile ?? profiles.ietf
  const served = await (serving[adapter] ?? Promise.reject)(hapax, {
    admits: sketch.admits ?? (() => true),
    routes,
    status: {
      scope: routes[0]?.scope ?? tenant,
      options: { profile, ...(sketch.statusLimit && { limit: sketch.statusLimit }) },
    },
    pages: {
      '/idempotency/policy': () =>
        jsonPage(contractOf(hapax, { ...(sketch.scopedBy && { scopedBy: sketch.scopedBy }) })),
      '/idempotency/openapi': () => jsonPage(openApiOf(hapax)),
      '/idempotency/errors': () => ({ type: 'text/html', text: errorsPage(profile) }),
    },
  } satisfies ServedApi)
  onTestFinished(async () => {
    await served.close()
    await hapax.close()
  })
  const { port } = served
  return {
    port,
    path: file.path,
    hapax,
    asked: faults.asked,
    heard,
    ask: (asked = {}) => ask(port, asked),
    status: (asked = {}) => ask(port, { method: 'GET', path: '/idempotency/key', ...asked }),
    read: (path) => ask(port, { method: 'GET', path, key: undefined }),
    runs: () => runs,
    rows: () => file.sql('SELECT * FROM hapax_records ORDER BY idempotency_key'),
    row: file.row,
    reap: () => faults.store.reap(100),
    async setTime(ms) {
      time.now = ms
      await file.setTime(ms)
    },
    pass(ms) {
      time.passed += ms
    },
  }
}

function clockInHand(): { readonly clock: Clock; readonly time: { now: number | undefined; passed: number } } {
  const time: { now: number | undefined; passed: number } = { now: undefined, passed: 0 }
  const clock: Clock = {
    ...systemClock,
    now: () => time.now ?? systemClock.now(),
    elapsed: () => systemClock.elapsed() + time.passed,
  }
  return { clock, time }
}

function tenant(header: (name: string) => string | undefined): string {
  return header('x-tenant') ?? 'acme'
}

function paid(runs: number) {
  return json(201, { id: runs })
}

function jsonPage(value: unknown): Page {
  return { type: 'application/json', text: JSON.stringify(value) }
}
