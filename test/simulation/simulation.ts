import { client, type Told } from './client.js'
import { simulatedDatabase } from './database/database.js'
import { durable } from './database/durable.js'
import { effectKindsOf } from './effect-kinds.js'
import { invariants } from './invariants.js'
import { type SimulatedNode, startNode } from './node.js'
import { operator } from './operator.js'
import { type Act, eventIdOf, Provider } from './provider.js'
import { Reached } from './reached.js'
import { recovery } from './recovery.js'
import type { Scenario, Simulation } from './scenario.js'
import { workerAt } from './setting.js'
import { storyOf } from './story.js'
import type { Chooser } from './world/choices.js'
import { faultsOf } from './world/faults.js'
import { newProcess } from './world/process.js'
import { newTask } from './world/task.js'
import { World } from './world/world.js'

/** How a scenario is run: for whom. */
export interface Watching {
  /** For who tells states apart: what each process was told is kept. */
  readonly memory?: 'remembers'
  /** For who reads it: also what happens when nothing goes wrong any more is told. */
  readonly trace?: 'to the end'
}

export function simulation(scenario: Scenario, chooser: Chooser, { memory, trace }: Watching = {}): Simulation {
  const faults = faultsOf(scenario.faults)
  const heard: Told[] = []
  /** Of each client, how much had been heard when it last sent something. */
  const sent = new Map<string, number>()
  const database = simulatedDatabase()
  const nodes = new Map<number, SimulatedNode>()
  /** Of each node, how often it was started. */
  const lives = new Map<number, number>()
  let isRecovering = false
  const world: World = new World({
    chooser,
    faults,
    remembers: memory === 'remembers',
    // Whoever works by himself looks every second.
    ...(scenario.loops !== undefined && { mostSteps: 100_000 }),
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
  const { requests, lanes, concurrency = 'reject', onFailure, loops } = scenario
  // A worker that is nudged goes on where whoever nudged it is.
  const work = lanes === undefined && concurrency === 'reject' && loops === undefined ? 'own' : 'shared'
  const reached = new Reached()
  if (isLarge(requests)) reached.note('five requests or more, of several tenants, at several nodes')
  const noted = () => (isRecovering ? undefined : reached)
  const checks = invariants({
    world,
    database,
    provider,
    heard,
    requests,
    work,
    duplicates: concurrency,
    reached: noted,
  })
  const programs = [...new Set(requests.map(({ program }) => program))]
  const kinds = effectKindsOf(requests)
  const outside = world.add(newProcess('somebody'))

  /** A node that has crashed is started anew by whoever needs it. */
  function node(index: number): SimulatedNode {
    const known = nodes.get(index)
    if (known?.process.isAlive) return known
    const life = (lives.get(index) ?? 0) + 1
    lives.set(index, life)
    const name = life === 1 ? `node ${index + 1}` : `node ${index + 1}, start ${life}`
    const programsOf = { programs, kinds, concurrency, onFailure }
    const started = startNode(name, { world, database, provider, lanes, ...programsOf, reached: noted })
    nodes.set(index, started)
    if (loops !== undefined) sometime(`the workers of ${name} begin`, () => started.startLoops(loops.workers))
    return started
  }

  /** What may begin when so much time has passed: all of it at once, in any order. */
  const later = new Map<number, (() => void)[]>()

  /** Something that begins at some time, and that nobody waits for. */
  function sometime(words: string, begin: () => unknown, afterMs = 0): void {
    const happen = () => {
      world.task = newTask(world.noted)
      begin()
    }
    const ask = () => world.send({ process: outside, port: 'agenda', words: () => words, happen })
    if (afterMs === 0) ask()
    else later.set(afterMs, [...(later.get(afterMs) ?? []), ask])
  }

  /** Something of this name begins at the node of that number. */
  function begins(index: number, words: string, begin: (node: SimulatedNode) => unknown): void {
    const found = node(index)
    world.hearing.arrives(found.process, words, () => void begin(found))
  }

  /** The provider tells of what it did, and once again if it hears that this was in vain, or nothing at all. */
  function deliver(act: Act, tries: 'tries' | 'insists'): void {
    const delivery = { headers: { 'event-id': eventIdOf(act) }, body: Buffer.from(JSON.stringify(act)) }
    const again = () => {
      if (tries === 'tries') sometime(`the provider tells again of ${act.id}`, () => deliver(act, 'insists'))
    }
    begins(0, act.id, async ({ webhooks, process }) => {
      process.onCrash.push(again)
      const { status } = await webhooks(act.service).receive(delivery)
      process.onCrash.splice(process.onCrash.indexOf(again), 1)
      if (status < 300) checks.acknowledged(act)
      else again()
    })
  }

  const around = {
    world,
    node,
    sent(name: string) {
      sent.set(name, heard.length)
      return heard.length
    },
    heard: (told: Told) => void heard.push(told),
    sending: checks.sending,
  }
  // Each sends at once, and what it sent arrives at some time.
  for (const [index, asking] of scenario.requests.entries()) {
    const name = `client ${asking.client ?? index + 1}`
    const send = () => void client(name, asking, around)
    if (asking.afterMs === undefined) send()
    else sometime(`${name} comes`, send, asking.afterMs)
  }
  for (const { worker, node: index, afterMs } of scenario.passes ?? []) {
    const make = (node: SimulatedNode) =>
      node
        .worker(worker)
        ?.runOnce()
        .catch(() => undefined)
    const pass = () => begins(index, worker, make)
    sometime(`${workerAt(worker, `node ${index + 1}`)} makes a pass`, pass, afterMs)
  }
  if (loops !== undefined) world.clockOf(outside).after(loops.forMs, () => {})
  const looks = operator({ scenario, database, provider })
  for (let count = 0; count < (scenario.operators ?? 0); count++)
    sometime('an operator looks', () => begins(0, 'look', looks), scenario.operatorsAfterMs)
  for (const ms of scenario.pauses ?? []) sometime(`${ms / 1_000} s pass`, () => world.pass(ms))
  for (const [afterMs, asks] of later)
    world.clockOf(outside).after(afterMs, () => {
      for (const ask of asks) ask()
    })
  provider.onAct = (act) => {
    const tell = () => sometime(`the provider tells of ${act.id}`, () => deliver(act, 'tries'))
    for (let count = 0; count < (scenario.deliveries ?? 0); count++) {
      if (scenario.deliveriesAfterMs === undefined) tell()
      else world.clockOf(outside).after(scenario.deliveriesAfterMs, tell)
    }
  }

  const made: Simulation = {
    world,
    database,
    provider,
    heard,
    checks,
    node,
    scenario,
    isRecovering: () => isRecovering,
    reached,
    story: () => story?.lines() ?? [],
    digest: () =>
      `${world.digest()} ${database.digest()} ${checks.memory()} ${JSON.stringify([provider.ledger, heard, [...sent]])}`,
  }
  const recover = recovery(made, around)
  return made
}

function isLarge(requests: Scenario['requests']): boolean {
  if (requests.length < 5) return false
  const tenants = new Set(requests.map(({ order }) => order.tenant))
  return tenants.size > 1 && new Set(requests.flatMap(({ nodes }) => nodes)).size > 1
}
