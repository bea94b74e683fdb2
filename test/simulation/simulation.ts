import { type Agenda, agendaOf } from './agenda.js'
import { type ClientContext, client, type Told } from './client.js'
import { simulatedDatabase } from './database/database.js'
import { durable } from './database/durable.js'
import { deliveries } from './deliveries.js'
import { effectKindsOf } from './effect-kinds.js'
import { invariants } from './invariants.js'
import type { SimulatedNode } from './node.js'
import { type Nodes, nodesOf } from './nodes.js'
import { operator } from './operator.js'
import { Provider } from './provider.js'
import { Reached } from './reached.js'
import { recovery } from './recovery.js'
import { isNeverRight, type Scenario, type Simulation } from './scenario.js'
import { workerAt } from './setting.js'
import { storyOf } from './story.js'
import type { Chooser } from './world/choices.js'
import { faultsOf } from './world/faults.js'
import { newTask } from './world/task.js'
import { World } from './world/world.js'

/** How a scenario is run: for whom. */
export interface Watching {
  /** For who tells states apart: what each process was told is kept. */
  readonly memory?: 'remembers'
  /** For who reads it: also what happens when nothing goes wrong any more is told. */
  readonly trace?: 'to the end'
}

/** One scenario, ready to run: who is in it, who judges it, and what is known of it from the start. */
export function simulation(scenario: Scenario, chooser: Chooser, { memory, trace }: Watching = {}): Simulation {
  const { requests, lanes, concurrency = 'reject', onFailure, curt, loops } = scenario
  let isRecovering = false
  const database = simulatedDatabase()
  const reached = new Reached()
  const faults = faultsOf(scenario.faults, (way) => reached.wentWrong(way))
  const world: World = new World({
    chooser,
    faults,
    remembers: memory === 'remembers',
    // Whoever works by himself looks every second, and whatever never comes right is tried for days.
    ...(isNeverRight(scenario) && { mostSteps: 20_000 }),
    ...(loops !== undefined && { mostSteps: 100_000 }),
    tellsAll: trace === 'to the end',
    writes: () => durable.writes,
    onStep() {
      story?.note()
      checks.step()
    },
    onIdle: () => {
      isRecovering = true
      world.task = newTask(world.noted)
      return recover()
    },
  })
  const provider = new Provider(world)
  const story = trace === 'to the end' ? storyOf({ world, database, provider }) : undefined
  if (isLarge(requests)) reached.note('five requests or more, of several tenants, at several nodes')
  const noted = () => (isRecovering ? undefined : reached)
  const heard: Told[] = []
  const waiting = new Set<string>()
  const checks = invariants({
    world,
    database,
    provider,
    heard,
    waiting,
    requests,
    // A worker that is nudged goes on where whoever nudged it is.
    work: lanes === undefined && concurrency === 'reject' && loops === undefined ? 'own' : 'shared',
    duplicates: concurrency,
    reached: noted,
    atAnyTime: reached,
  })
  const agenda = agendaOf(world)
  const programs = [...new Set(requests.map(({ program }) => program))]
  const kinds = effectKindsOf(requests)
  const nodes = nodesOf(
    { world, database, provider, lanes, programs, kinds, concurrency, onFailure, curt, reached: noted },
    agenda,
    loops,
  )
  /** Of each client, how much had been heard when it last sent something. */
  const sent = new Map<string, number>()
  const clients: ClientContext = {
    world,
    node: nodes.at,
    sent(name) {
      waiting.add(name)
      sent.set(name, heard.length)
      return heard.length
    },
    heard(told) {
      waiting.delete(told.client)
      heard.push(told)
    },
    sending: checks.sending,
  }
  provider.onAct = deliveries({ world, agenda, nodes, scenario, waiting, acknowledged: checks.acknowledged })
  everythingIn(scenario, { world, agenda, nodes, clients, looks: operator({ scenario, database, provider }) })

  const made: Simulation = {
    world,
    faults,
    database,
    provider,
    heard,
    checks,
    node: nodes.at,
    scenario,
    isRecovering: () => isRecovering,
    reached,
    story: () => story?.lines() ?? [],
    digest: () =>
      `${world.digest()} ${database.digest()} ${checks.memory()} ${JSON.stringify([provider.ledger, heard, [...sent], [...waiting]])}`,
  }
  const recover = recovery(made, clients)
  return made
}

interface Cast {
  readonly world: World
  readonly agenda: Agenda
  readonly nodes: Nodes
  readonly clients: ClientContext
  /** What an operator does who looks. */
  readonly looks: (node: SimulatedNode) => unknown
}

/** Puts on the agenda all that is known from the start. */
function everythingIn(scenario: Scenario, { world, agenda, nodes, clients, looks }: Cast): void {
  const {
    requests,
    passes = [],
    operators = 0,
    operatorsAfterMs,
    operatorsAt = 0,
    pauses = [],
    pausesAfterMs,
    loops,
  } = scenario
  // Each sends at once, and what it sent arrives at some time.
  for (const [index, asking] of requests.entries()) {
    const name = `client ${asking.client ?? index + 1}`
    const send = () => void client(name, asking, clients)
    if (asking.afterMs === undefined) send()
    else agenda.sometime(`${name} comes`, send, asking.afterMs)
  }
  for (const { worker, node: index, afterMs } of passes) {
    const make = (node: SimulatedNode) => node.worker(worker)?.runOnce().catch(nothing)
    const pass = () => nodes.begins(index, worker, make)
    agenda.sometime(`${workerAt(worker, `node ${index + 1}`)} makes a pass`, pass, afterMs)
  }
  if (loops !== undefined) world.clockOf(agenda.outside).after(loops.forMs, nothing)
  for (let count = 0; count < operators; count++)
    agenda.sometime('an operator looks', () => nodes.begins(operatorsAt, 'look', looks), operatorsAfterMs)
  for (const ms of pauses) agenda.sometime(`${ms / 1_000} s pass`, () => world.pass(ms), pausesAfterMs)
  agenda.start()
}

function nothing(): void {}

function isLarge(requests: Scenario['requests']): boolean {
  if (requests.length < 5) return false
  const tenants = new Set(requests.map(({ order }) => order.tenant))
  return tenants.size > 1 && new Set(requests.flatMap(({ nodes }) => nodes)).size > 1
}
