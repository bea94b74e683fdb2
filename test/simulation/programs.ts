import type { Engine } from '../../src/engine/engine.js'
import type { Work } from '../../src/engine/work.js'
import { type Route, routeOf } from '../../src/http/route.js'
import { within } from '../../src/kernel/clock.js'
import {
  missingMs,
  type Order,
  type Program,
  type Surroundings,
  services,
  shippingOf,
  subjectOf,
  timeout,
  timeoutMs,
} from './application.js'
import type { SimulatedTx } from './database/simulated-tx.js'
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

interface Node extends Surroundings {
  readonly hapax: Engine<SimulatedTx>
  readonly concurrency: 'reject' | 'wait'
  /** What is noted while something can still go wrong; `undefined` afterwards. */
  readonly reached: () => Reached | undefined
}

/** What a handler answers when it fails; `undefined` when it does not. */
type Failed = (order: Order, work: Work<SimulatedTx>) => { readonly status: number; readonly body: object } | undefined

export function mounted(program: Program, node: Node): Mounted {
  return mounting[program](node, (order, work) => failing(order, work, node))
}

const mounting: Readonly<Record<Program, (node: Node, failed: Failed) => Mounted>> = {
  plain: ({ hapax, process, provider, concurrency }, failed) => ({
    route: routeOf(hapax, { name: 'plain', scope, key, onError: 'unknown', concurrency }),
    async handler(work, order) {
      const subject = subjectOf(order, work.generation)
      const { id } = await provider.act(process, { service: services.payout, key: 'none', subject, timeoutMs })
      return failed(order, work) ?? created(order, { id })
    },
  }),

  deposits: ({ hapax, process, provider, concurrency }, failed) => ({
    route: routeOf(hapax, { name: 'deposits', scope, key, onCrash: 'retry', concurrency }),
    async handler(work, order) {
      const subject = subjectOf(order, work.generation)
      const key = await work.downstreamKey('deposited')
      const asked = provider.act(process, { service: services.deposit, key, subject, timeoutMs })
      const { id } = await within(hapax.clock, timeoutMs, asked, () => new Error('no reply'))
      return failed(order, work) ?? created(order, { deposit: id })
    },
  }),

  rides: ({ hapax, process, provider, concurrency }, failed) => {
    const operation = hapax.operation('rides', { version: 1, concurrency }, async (work, order: Order) => {
      const subject = subjectOf(order, work.generation)
      await work.transaction('ride_created', ({ tx }) => tx.insert('rides', subject))
      const asked = { service: services.charge, subject, timeoutMs, isDeclined: isDeclined(order) }
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
        return await work.commit(({ effect }) => {
          effect('receipt.send', { subject })
          return failed(order, work) ?? created(order, { charge: charge.id })
        })
      } catch (error) {
        if (error instanceof Declined) return declined(order, subject)
        throw error
      }
    })
    return { route: routeOf(hapax, { scope, key, operation, input }) }
  },

  transfers: ({ hapax, process, provider, concurrency }, failed) => {
    const operation = hapax.operation('transfers', { version: 1, concurrency }, async (work, order: Order) => {
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
      return work.commit(async ({ tx }) => {
        await tx.insert('transfers', subject)
        return created(order, { transfer: made.id })
      })
    })
    return { route: routeOf(hapax, { scope, key, operation, input }) }
  },

  letters: ({ hapax, process, provider, concurrency }, failed) => {
    const operation = hapax.operation('letters', { version: 1, concurrency }, async (work, order: Order) => {
      const subject = subjectOf(order, work.generation)
      const sent = await work
        .call('posted', {
          run: ({ key }) => provider.act(process, { service: services.letter, key, subject, timeoutMs }),
          timeout,
        })
        .catch(orHushedUp(order))
      if (sent === undefined) return accepted(order, subject)
      return failed(order, work) ?? created(order, { letter: sent.id, attempt: work.attempt })
    })
    return { route: routeOf(hapax, { scope, key, operation, input }) }
  },

  sales: ({ hapax, concurrency }, failed) => ({
    route: routeOf(hapax, { name: 'sales', scope, key, mode: 'transaction', concurrency }),
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
const scope = ({ order }: Received) => order.tenant
const input = ({ order }: Received) => order
const classify = (error: unknown) => (error instanceof Declined ? 'answered' : 'doubt')
const isDeclined = ({ amount }: Order) => amount < 0

/** Every answer says first whose request it answers, and which. */
function created({ tenant, amount }: Order, said: object) {
  return { status: 201, body: { tenant, amount, ...said } }
}

/** Of every generation another one: whoever hears of it knows which. */
function declined({ tenant, amount }: Order, subject: string) {
  return { status: 402, body: { tenant, amount, declined: subject } }
}

function accepted({ tenant, amount }: Order, subject: string) {
  return { status: 202, body: { tenant, amount, accepted: subject } }
}

function failing(order: Order, work: Work<SimulatedTx>, { hapax, reached }: Node): ReturnType<Failed> {
  const { fails } = order
  if (fails === undefined || hapax.clock.elapsed() >= missingMs) return undefined
  reached()?.note('a handler that failed')
  if (fails === 'throws') throw new Error('something is missing')
  if (fails === 'answers') return { status: 503, body: { title: 'something is missing' } }
  work.doubt('something_is_missing')
  return accepted(order, subjectOf(order, work.generation))
}

/** Rethrows, unless the handler of this order hides what has failed. That the provider said no is an answer. */
function orHushedUp({ isHushedUp }: Order): (error: unknown) => undefined {
  return (error) => {
    if (isHushedUp === undefined || error instanceof Declined) throw error
  }
}
