import type { Engine } from '../../src/engine/engine.js'
import type { PolicyOptions } from '../../src/engine/policy.js'
import type { ScopeParts } from '../../src/engine/scope.js'
import type { Work } from '../../src/engine/work.js'
import { type Route, routeOf } from '../../src/http/route.js'
import { within } from '../../src/kernel/clock.js'
import {
  callingAlone,
  missingMs,
  mostAnswerBytes,
  type OnFailure,
  type Order,
  type Program,
  type ProgramContext,
  secondOf,
  services,
  subjectOf,
  timeout,
  timeoutMs,
  type Unkept,
} from './application.js'
import type { SimulatedTx } from './database/simulated-tx.js'
import { shippingOf } from './effect-kinds.js'
import { Declined } from './moods.js'
import type { Reached } from './reached.js'

/** A request as the routes know it. */
interface Received {
  readonly order: Order
}

/** A program on one node: its route, and the handler where the route has no operation. */
export interface Mounted {
  readonly route: Route<Received>
  readonly handler?: (work: Work<SimulatedTx>, order: Order) => Promise<unknown>
}

interface Node extends ProgramContext {
  readonly hapax: Engine<SimulatedTx>
  readonly concurrency: 'reject' | 'wait'
  readonly onFailure: OnFailure | undefined
  /** What is noted while something can still go wrong; `undefined` afterwards. */
  readonly reached: () => Reached | undefined
}

/** What a handler answers when it fails; `undefined` when it does not. */
type Failed = (order: Order, work: Work<SimulatedTx>) => { readonly status: number; readonly body: object } | undefined

export function mounted(program: Program, node: Node): Mounted {
  // Who makes his calls by himself cannot say that his failures are answers: what came of his calls he does not know.
  const isOwn = callingAlone.has(program)
  const meaning = isOwn ? undefined : node.onFailure
  return mounting[program](node, (order, work) => failing(order, work, node, meaning))
}

const mounting: Readonly<Record<Program, (node: Node, failed: Failed) => Mounted>> = {
  plain: ({ hapax, process, provider, concurrency }, failed) => ({
    route: routeOf(hapax, { name: 'plain', scope, key, onError: 'unknown', concurrency, maxAnswerBytes }),
    async handler(work, order) {
      const subject = subjectOf(order, work.generation)
      const { id } = await provider.act(process, { service: services.payout, key: 'none', subject, timeoutMs })
      return failed(order, work) ?? created(order, { id })
    },
  }),

  deposits: ({ hapax, process, provider, concurrency }, failed) => ({
    route: routeOf(hapax, { name: 'deposits', scope, key, onCrash: 'retry', concurrency, maxAnswerBytes }),
    async handler(work, order) {
      const subject = subjectOf(order, work.generation)
      const key = await work.downstreamKey('deposited')
      const asked = provider.act(process, { service: services.deposit, key, subject, timeoutMs })
      const { id } = await within(hapax.clock, timeoutMs, asked, () => new Error('no reply'))
      return failed(order, work) ?? created(order, { deposit: id })
    },
  }),

  rides: ({ hapax, process, provider, concurrency, onFailure }, failed) => {
    const policy = { version: 1, concurrency, maxAnswerBytes, onError: onErrors[onFailure ?? 'retry'] }
    const operation = hapax.operation('rides', policy, async (work, order: Order) => {
      const subject = subjectOf(order, work.generation)
      const ride = await work
        .transaction('ride_created', async ({ tx }) => {
          await tx.insert('rides', subject)
          return subject
        })
        .catch(orHushedUp(order))
      if (ride === undefined) return without(order, subject)
      const { mood } = order
      const asked = { service: services.charge, subject, timeoutMs, isDeclined: isDeclined(order), mood }
      try {
        const charge = await work
          .call('charge_created', {
            run: ({ key }) => provider.act(process, { ...asked, key }),
            honoursKeyFor: '24h',
            timeout,
            classify,
          })
          .catch(orHushedUp(order))
        if (charge === undefined) return accepted(order, subject)
        // The charge stands by now: a fee that has failed is hidden by nobody, a commit may be.
        const fee = order.hasFee && (await feeOf(work, subject, { process, provider }))
        const committed = work.commit(({ effect }) => {
          effect('receipt.send', { subject })
          if (fee !== undefined) effect('receipt.send', { subject: secondOf(subject) })
          return failed(order, work) ?? created(order, { charge: charge.id, ...(fee && { fee: fee.id }) })
        })
        return (await committed.catch(orHushedUp(order))) ?? accepted(order, subject)
      } catch (error) {
        if (error instanceof Declined) return declined(order, subject)
        throw error
      }
    })
    return { route: routeOf(hapax, { scope, key, operation, input }) }
  },

  transfers: ({ hapax, process, provider, concurrency, onFailure }, failed) => {
    const policy = { version: 1, concurrency, maxAnswerBytes, onError: onErrors[onFailure ?? 'retry'] }
    const operation = hapax.operation('transfers', policy, async (work, order: Order) => {
      const subject = subjectOf(order, work.generation)
      const made = await work
        .call('transferred', {
          run: ({ key }) =>
            provider.act(process, { service: services.transfer, key, subject, timeoutMs, mood: order.mood }),
          lookup: ({ key }) => provider.find(process, { service: services.transfer, key, mood: order.mood }),
          readLag: '2s',
          timeout,
        })
        .catch(orHushedUp(order))
      if (made === undefined) return accepted(order, subject)
      const failure = failed(order, work)
      if (failure !== undefined) return failure
      const committed = work.commit(async ({ tx }) => {
        await tx.insert('transfers', subject)
        return created(order, { transfer: made.id })
      })
      return committed.catch((error: unknown) => {
        throw order.isHushedUp ? new Error('it could not be written down') : error
      })
    })
    return { route: routeOf(hapax, { scope, key, operation, input }) }
  },

  letters: ({ hapax, process, provider, concurrency, onFailure, reached }, failed) => {
    const policy = { version: 1, concurrency, maxAnswerBytes, onError: onErrors[onFailure ?? 'retry'] }
    const operation = hapax.operation('letters', policy, async (work, order: Order) => {
      const subject = subjectOf(order, work.generation)
      const sent = await work
        .call('posted', {
          run: ({ key }) => provider.act(process, { service: services.letter, key, subject, timeoutMs }),
          timeout,
          result: order.needsNoResult ? 'optional' : 'required',
        })
        .catch(orHushedUp(order))
      if (sent === undefined && !order.needsNoResult) return accepted(order, subject)
      if (sent === undefined) reached()?.note('a call of which it was enough that it landed')
      return failed(order, work) ?? created(order, { letter: sent?.id ?? 'posted', attempt: work.attempt })
    })
    return { route: routeOf(hapax, { scope, key, operation, input }) }
  },

  sales: ({ hapax, concurrency, onFailure }, failed) => ({
    route: routeOf(hapax, {
      ...{ name: 'sales', scope, key, mode: 'transaction', concurrency, maxAnswerBytes },
      onError: onErrors[onFailure ?? 'retry'],
    }),
    handler: (work, order) =>
      work.commit(async ({ tx, effect }) => {
        const subject = subjectOf(order, work.generation)
        await tx.insert('sales', subject)
        effect(shippingOf(order), { subject, item: order.item, mood: order.mood })
        if (isDeclined(order)) return declined(order, subject)
        return failed(order, work) ?? created(order, { sale: subject })
      }),
  }),
}

const key = 'optional'
const maxAnswerBytes = mostAnswerBytes

/** What the scopes are made of that are not simply the name of a tenant: all of them are others. */
const scopeParts: ReadonlyMap<string, string | ScopeParts> = new Map<string, string | ScopeParts>([
  ['acme;principal=ann', { tenant: 'acme', principal: 'ann' }],
  ['acme%3Bprincipal%3Dann', 'acme;principal=ann'],
  ['acme%253Bprincipal%253Dann', 'acme%3Bprincipal%3Dann'],
])
const scope = ({ order }: Received) => scopeParts.get(order.tenant) ?? order.tenant
const input = ({ order }: Received) => order
const classify = (error: unknown) => (error instanceof Declined ? 'answered' : 'doubt')
const isDeclined = ({ amount }: Order) => amount < 0

/** The first is what a policy has that says nothing about it. */
const onErrors = {
  retry: 'retry',
  store: 'store',
  release: () => 'release',
} as const satisfies Readonly<Record<OnFailure | 'retry', PolicyOptions['onError']>>

/** The second call of a request, to another service. */
function feeOf(work: Work<SimulatedTx>, subject: string, { process, provider }: ProgramContext) {
  return work.call('fee_created', {
    run: ({ key }) => provider.act(process, { service: services.fee, key, subject, timeoutMs }),
    honoursKeyFor: '24h',
    timeout,
  })
}

/** A character that is none of ASCII: whoever keeps the text of an answer, and not its bytes, loses it. */
const currency = '£'

/** Every answer says first whose request it answers, and which. */
function created({ tenant, key, amount, unkept }: Order, said: object) {
  return { status: 201, body: { tenant, key, amount, currency, ...said, ...(unkept && unkeepable[unkept]) } }
}

const unkeepable: Readonly<Record<Unkept, object>> = {
  'too long': { receipt: 'x'.repeat(mostAnswerBytes) },
  'no JSON': { cents: 100n },
}

/** Of every generation another one: whoever hears of it knows which. */
function declined({ tenant, key, amount }: Order, subject: string) {
  return { status: 402, body: { tenant, key, amount, currency, declined: subject } }
}

function accepted({ tenant, key, amount }: Order, subject: string) {
  return { status: 202, body: { tenant, key, amount, currency, accepted: subject } }
}

/** Nothing has come of it: there is no row. */
function without({ tenant, key, amount }: Order, subject: string) {
  return { status: 200, body: { tenant, key, amount, currency, without: subject } }
}

function failing(
  order: Order,
  work: Work<SimulatedTx>,
  { hapax, reached }: Node,
  meaning: OnFailure | undefined,
): ReturnType<Failed> {
  const { fails, isUnmended } = order
  if (fails === undefined || (!isUnmended && hapax.clock.elapsed() >= missingMs)) return undefined
  reached()?.note('a handler that failed')
  if (fails === 'throws') throw new Error('something is missing')
  const subject = subjectOf(order, work.generation)
  if (fails === 'answers') return unavailable(order, subject, meaning)
  work.doubt('something_is_missing')
  return accepted(order, subject)
}

/** Where it is stored it is an answer like any other, and says whose it is. */
function unavailable({ tenant, key, amount }: Order, subject: string, meaning: OnFailure | undefined) {
  const body =
    meaning === 'store' ? { tenant, key, amount, currency, missing: subject } : { title: 'something is missing' }
  return { status: 503, body }
}

/** Rethrows, unless the handler of this order hides what has failed. That the provider said no is an answer. */
function orHushedUp({ isHushedUp }: Order): (error: unknown) => undefined {
  return (error) => {
    if (isHushedUp === undefined || error instanceof Declined) throw error
  }
}
