import type { WorkerName } from '../../src/workers/services.js'
import { type Failure, missingMs, type Order, type Program, promised, timeoutMs } from './application.js'
import type { Scenario } from './scenario.js'
import type { Budget } from './world/faults.js'

/** What there is in a scenario before anything happens, for people: who asks for what, what may go wrong, and who may help. */
export function settingOf(scenario: Scenario): readonly string[] {
  const { requests, passes = [], deliveries = 0, operators = 0, pauses = [], lanes, concurrency, loops } = scenario
  const asked = new Set(requests.map(({ program }) => program))
  const helps = [
    ...passes.map(({ worker, node, afterMs }) => `a pass of ${workerAt(worker, `node ${node + 1}`)}${from(afterMs)}`),
    ...(loops === undefined ? [] : [`all workers of every node by themselves for ${loops.forMs / 1_000} s`]),
    ...(deliveries > 0
      ? [
          `webhooks for each act, ${deliveries}, to node ${places(scenario.deliveredAt)}${from(scenario.deliveriesAfterMs)}`,
        ]
      : []),
    ...(operators > 0
      ? [`operators, ${operators}, at node ${places([scenario.operatorsAt ?? 0])}${from(scenario.operatorsAfterMs)}`]
      : []),
  ]
  const how = [
    ...(lanes === undefined ? [] : [`statements in groups, over ${lanes === 1 ? 'one lane' : `${lanes} lanes`}`]),
    ...(scenario.curt === undefined ? [] : [`${scenario.curt} say of what landed only that it did`]),
    ...(concurrency === 'wait' ? ['a duplicate waits for the first of its node'] : []),
    ...(scenario.onFailure === undefined ? [] : [`a failure is one to ${scenario.onFailure}`]),
    ...pauses.map((ms) => `${ms / 1_000} s pass at some time${from(scenario.pausesAfterMs)}`),
  ]
  return [
    ...requests.map(({ program, order, nodes, client, afterMs }, index) => {
      return `client ${client ?? index + 1} asks ${program} for ${wordsOf(program, order)}, at node ${places(nodes)}${from(afterMs)}`
    }),
    ...[...asked].map((program) => `${program}: ${made[program]}`),
    ...listed('there are also: ', helps),
    ...listed('', how),
    ...listed('may go wrong: ', budgetOf(scenario)),
    `a lease lasts ${promised.leaseMs / 1_000} s, a call ${timeoutMs / 1_000} s, an answer ${promised.retentionMs / 3_600_000} h`,
  ]
}

/** Who makes a pass, and where. */
export function workerAt(name: WorkerName, node: string): string {
  return `${workers[name]} of ${node}`
}

const workers: Readonly<Record<WorkerName, string>> = {
  sweeper: 'the sweeper',
  reconciler: 'the reconciler',
  resumer: 'the resumer',
  reaper: 'the reaper',
  effects: 'the effect worker',
  effectReconciler: 'the effect reconciler',
}

/** What each handler does, and what its provider knows. */
const made: Readonly<Record<Program, string>> = {
  plain: 'a payout that its handler makes by itself, and that no engine knows of',
  deposits:
    'a deposit that its handler makes by itself, with a key of ours that its provider honours; it may run again',
  rides: 'a row, a charge whose provider honours keys, and a receipt as an effect',
  transfers: 'a transfer whose provider honours no keys and has a lookup, and a row',
  letters: 'a letter whose provider honours no keys and has no lookup',
  sales: 'a row and a shipment as an effect, in one transaction; its provider honours no keys and has a lookup',
}

function wordsOf(program: Program, order: Order): string {
  const {
    tenant,
    key,
    amount,
    item,
    isKeyless,
    misspelt,
    isHushedUp,
    hasFee,
    fails,
    isUnmended,
    needsNoResult,
    unkept,
    mood,
  } = order
  return [
    `${amount}${item === undefined ? '' : ` (${item})`} as ${tenant} ${isKeyless ? 'without a key' : `under ${key}`}`,
    ...(misspelt === undefined ? [] : [`whose key is misspelt: ${misspelt}`]),
    ...(isHushedUp && hides.has(program) ? ['whose handler hides what has failed'] : []),
    ...(hasFee && program === 'rides' ? ['with a fee and a second receipt'] : []),
    ...(needsNoResult && program === 'letters' ? ['whose handler needs nothing of what its call returns'] : []),
    ...(fails === undefined
      ? []
      : [
          `whose handler, ${isUnmended ? 'each time' : `for ${missingMs / 1_000} s`}, does all that it has to and ${failing[fails]}`,
        ]),
    ...(unkept === undefined ? [] : [`whose answer is ${unkept}`]),
    ...(mood === undefined ? [] : [`whose provider ${mood}`]),
  ].join(', ')
}

function budgetOf({ faults }: Scenario): readonly string[] {
  const kinds = Object.keys(budgets) as (keyof Budget)[]
  return kinds.flatMap((kind) => {
    const { [kind]: count = 0 } = faults
    return count > 0 ? [`${budgets[kind]}${count === 1 ? '' : `, ${count} times`}`] : []
  })
}

const budgets: Readonly<Record<keyof Budget, string>> = {
  breaks: 'a line breaks',
  drifts: 'a line breaks, and the request arrives all the same',
  cancels: 'the database cancels a statement',
  crashes: 'a node crashes',
  lateness: 'a reply is late',
  freezes: 'a node is stopped for a minute',
  jumps: 'a clock jumps',
  haste: 'whatever is under way is slow',
}

/** Those whose handler heeds it. */
const hides: ReadonlySet<Program> = new Set<Program>(['rides', 'transfers', 'letters'])

const failing: Readonly<Record<Failure, string>> = {
  throws: 'then throws',
  answers: 'then answers with 503',
  doubts: 'then says that nobody knows what came of it',
}

function places(nodes: readonly number[] = [0]): string {
  return nodes.map((node) => node + 1).join(', then ')
}

function from(afterMs: number | undefined): string {
  return afterMs === undefined ? '' : `, from ${afterMs / 1_000} s on`
}

function listed(title: string, all: readonly string[]): readonly string[] {
  return all.length === 0 ? [] : [`${title}${all.join('; ')}`]
}
