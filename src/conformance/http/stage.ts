import { type Engine, type EngineOptions, engine } from '../../engine/engine.js'
import { systemClock, within } from '../../kernel/clock.js'
import type { EventName } from '../../kernel/events.js'
import { type Asking, ask, type Got, type Wire, wire } from './client.js'
import type { Handed, HttpHarness, HttpRoute, Said, Served } from './harness.js'
import { type WaywardStore, waywardStore } from './wayward-store.js'

/** What a case plays on: an engine over an empty store, and a server that is there once the case has said its routes. */
export interface HttpStage {
  readonly store: WaywardStore
  /** Says how the engine protects itself, before anything else is done with it. */
  guardedBy(options: Omit<EngineOptions<never>, 'store' | 'log'>): void
  /** Guards and serves these routes, on a real port. */
  serve(...routes: readonly RouteSketch[]): Promise<Site>
  /** Resolves when the engine next tells of this. Ask before causing it. */
  told(name: EventName): Promise<void>
}

/** A route with everything but its handler left to default. */
export interface RouteSketch extends Partial<Omit<HttpRoute, 'options'>> {
  readonly options?: Partial<HttpRoute['options']>
}

/** The application as its clients see it, and how often its handlers ran. */
export interface Site {
  ask(asking?: Asking): Promise<Got>
  wire(): Promise<Wire>
  runs(): number
  /** Once this is back, the server had its chance to send whatever it was about to send. */
  settled(): Promise<void>
}

/** What a case must show. It passes by returning and fails by throwing. */
export type HttpShow = (stage: HttpStage) => Promise<void>

/** A case that takes longer waits for something that does not come. */
const patienceMs = 15_000

/** Sets the stage, plays, and clears it, whatever happened. */
export async function playHttp(harness: HttpHarness, show: HttpShow): Promise<void> {
  const store = waywardStore(await harness.store())
  let hapax = engine({ store: store.store, log: () => {} })
  const servers: Served[] = []
  const stage: HttpStage = {
    store,
    guardedBy(options) {
      hapax = engine({ ...options, store: store.store, log: () => {} })
    },
    serve: (...routes) => serve(harness, hapax, routes, servers),
    told: (name) =>
      new Promise((resolve) => {
        const off = hapax.on(name, () => {
          off()
          resolve()
        })
      }),
  }
  const late = () => new Error(`The case took more than ${patienceMs} ms: something that it waits for does not come.`)
  try {
    await within(systemClock, patienceMs, show(stage), late)
  } finally {
    for (const server of servers) await server.close()
    await hapax.close()
  }
}

async function serve(
  harness: HttpHarness,
  hapax: Engine<never>,
  sketches: readonly RouteSketch[],
  servers: Served[],
): Promise<Site> {
  let runs = 0
  const routes = sketches.map((sketch, index) =>
    routeOf(sketch, index, () => {
      runs++
    }),
  )
  const server = await harness.serve({ engine: hapax, routes })
  servers.push(server)
  return {
    ask: (asking = {}) => ask(server.port, asking),
    wire: () => wire(server.port),
    runs: () => runs,
    async settled() {
      for (let turn = 0; turn < roundTrips; turn++) await ask(server.port, { method: 'GET', path: '/nowhere' })
    },
  }
}

/** More than one, since what was written first need not arrive first on another connection. */
const roundTrips = 3

function routeOf(sketch: RouteSketch, index: number, onRun: () => void): HttpRoute {
  const { handler = paid, options, ...rest } = sketch
  return {
    path: index === 0 ? '/payments' : `/route-${index}`,
    scope: (header) => header('x-tenant') ?? 'nobody',
    ...rest,
    options: { name: `operation-${index}`, ...options },
    handler(request: Handed) {
      onRun()
      return handler(request)
    },
  }
}

/** An answer like most are. */
export function paid(): Said {
  return json(201, '{"id":"pay_1", "amount":100}')
}

export function json(status: number, text: string): Said {
  return { status, headers: [['Content-Type', 'application/json']], body: Buffer.from(text) }
}
