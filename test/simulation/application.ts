import { effects } from '../../src/effects/effects.js'
import type { EffectAbout, EffectCall, Effects } from '../../src/engine/effect-definition.js'
import type { Engine } from '../../src/engine/engine.js'
import type { Work } from '../../src/engine/work.js'
import { type Route, routeOf } from '../../src/http/route.js'
import type { SimulatedTx } from './database/simulated-tx.js'
import type { Misspelling } from './misspelt.js'
import { Declined, type Provider, type Service } from './provider.js'
import type { Process } from './world/process.js'

/** What a client asks for. */
export interface Order {
  readonly tenant: string
  readonly key: string
  readonly amount: number
  /** Orders for the same thing are shipped one after another. */
  readonly item?: string
  /** It is sent without a key. The one that it has is the one that the server mints for it when it arrives. */
  readonly isKeyless?: true
  /** What it is sent with is no key, in this way. */
  readonly misspelt?: Misspelling
  /** Whatever becomes of the call that it leads to, its handler hides that, and answers that it was accepted. */
  readonly isHushedUp?: true
}

export const programs = ['plain', 'rides', 'transfers', 'letters', 'sales'] as const

/**
 * One for each way in which a handler may be written: one that knows nothing of phases and calls a provider by itself; one
 * whose provider honours keys; one whose provider only has a lookup; one whose provider has neither; and one that is a
 * single transaction, leaves everything else to its effects, and may decline when it has written all of that.
 */
export type Program = (typeof programs)[number]

const day = 24 * 60 * 60_000

/** All that there is to ask a provider for. Whoever honours keys forgets them in the end. */
export const services = {
  payout: { name: 'payout' },
  charge: { name: 'charge', remembersMs: day },
  transfer: { name: 'transfer', lagMs: 2_000 },
  letter: { name: 'letter' },
  receipt: { name: 'receipt', remembersMs: day },
  shipment: { name: 'shipment', lagMs: 2_000 },
} as const satisfies Readonly<Record<string, Service>>

/** For so long a call to a provider may take. */
export const timeoutMs = 10_000
const timeout = '10s'

/**
 * What clients of this application were promised: all of it is left to the defaults, and written down here so that nobody has
 * to take the engine's word for it.
 */
export const promised = {
  /** An answer is kept for so long. */
  retentionMs: day,
  /** And for so long after that its key is known to have been used. */
  tombstoneMs: 30 * day,
  /** Who has taken a key, or an effect, has it for so long, each time that he says so. */
  leaseMs: 30_000,
} as const

/** What is wanted once per request. */
export function subjectOf({ tenant, key }: Pick<Order, 'tenant' | 'key'>, generation: number): string {
  return `${tenant}/${key}#${generation}`
}

interface Surroundings {
  readonly process: Process
  readonly provider: Provider
}

export function effectsOf({ process, provider }: Surroundings): Effects<unknown, SimulatedTx> {
  const act = (service: Service, { payload, key }: EffectCall<Shipped>) =>
    provider.act(process, { service, key, subject: payload.subject, timeoutMs })
  return effects<Payloads, Results, SimulatedTx>({
    'receipt.send': {
      call: (call: EffectCall<Shipped>) => act(services.receipt, call),
      honoursKeyFor: '24h',
      timeout,
    },
    'shipment.book': {
      call: (call: EffectCall<Shipped>) => act(services.shipment, call),
      lookup: ({ key }: EffectAbout<Shipped>) => provider.find(process, { service: services.shipment, key }),
      apply: (tx: SimulatedTx, _: unknown, { payload }: EffectAbout<Shipped>) => tx.insert('shipped', payload.subject),
      orderBy: ({ item }: Shipped) => item,
      readLag: '2s',
      timeout,
    },
  })
}

type Payloads = Readonly<Record<'receipt.send' | 'shipment.book', Shipped>>
type Results = Readonly<Record<keyof Payloads, { readonly id: string }>>

interface Shipped {
  readonly subject: string
  readonly item?: string
}

/** A request as the routes know it. */
export interface Received {
  readonly order: Order
}

/** A program on one node: its route, and the handler where the route has no operation. */
export interface Mounted {
  readonly route: Route<Received>
  readonly handler?: (work: Work<SimulatedTx>, order: Order) => Promise<unknown>
}

/** Rethrows, unless the handler of this order hides what has failed. That the provider said no is an answer. */
function orHushedUp({ isHushedUp }: Order): (error: unknown) => undefined {
  return (error) => {
    if (isHushedUp === undefined || error instanceof Declined) throw error
  }
}

/** Every answer says first whose request it answers, and which. */
export function mounted(
  program: Program,
  hapax: Engine<SimulatedTx>,
  { process, provider, concurrency }: Surroundings & { readonly concurrency: 'reject' | 'wait' },
): Mounted {
  const scope = ({ order }: Received) => order.tenant
  const key = 'optional' as const
  const classify = (error: unknown) => (error instanceof Declined ? 'answered' : 'doubt')
  const isDeclined = (order: Order) => order.amount < 0
  /** Of every generation another one: whoever hears of it knows which. */
  const declined = ({ tenant, amount }: Order, subject: string) => ({
    status: 402,
    body: { tenant, amount, declined: subject },
  })
  const accepted = ({ tenant, amount }: Order, subject: string) => ({
    status: 202,
    body: { tenant, amount, accepted: subject },
  })

  switch (program) {
    case 'plain':
      return {
        route: routeOf(hapax, { name: 'plain', scope, key, onError: 'unknown', concurrency }),
        async handler(work, order) {
          const subject = subjectOf(order, work.generation)
          const asked = { service: services.payout, key: 'none', subject, timeoutMs }
          const { id } = await provider.act(process, asked)
          return { status: 201, body: { tenant: order.tenant, amount: order.amount, id } }
        },
      }
    case 'rides': {
      const operation = hapax.operation('rides', { version: 1, concurrency }, async (work, order: Order) => {
        const subject = subjectOf(order, work.generation)
        await work.transaction('ride_created', ({ tx }) => tx.insert('rides', subject))
        try {
          const charge = await work
            .call('charge_created', {
              run: ({ key }) =>
                provider.act(process, {
                  service: services.charge,
                  key,
                  subject,
                  timeoutMs,
                  isDeclined: isDeclined(order),
                }),
              honoursKeyFor: '24h',
              timeout,
              classify,
            })
            .catch(orHushedUp(order))
          if (charge === undefined) return accepted(order, subject)
          return await work.commit(({ effect }) => {
            effect('receipt.send', { subject })
            return { status: 201, body: { tenant: order.tenant, amount: order.amount, charge: charge.id } }
          })
        } catch (error) {
          if (error instanceof Declined) return declined(order, subject)
          throw error
        }
      })
      return { route: routeOf(hapax, { scope, key, operation, input: ({ order }) => order }) }
    }
    case 'transfers': {
      const operation = hapax.operation('transfers', { version: 1, concurrency }, async (work, order: Order) => {
        const subject = subjectOf(order, work.generation)
        const made = await work
          .call('transferred', {
            run: ({ key }) => provider.act(process, { service: services.transfer, key, subject, timeoutMs }),
            lookup: ({ key }) => provider.find(process, { service: services.transfer, key }),
            readLag: '2s',
            timeout,
          })
          .catch(orHushedUp(order))
        if (made === undefined) return accepted(order, subject)
        return work.commit(async ({ tx }) => {
          await tx.insert('transfers', subject)
          return { status: 201, body: { tenant: order.tenant, amount: order.amount, transfer: made.id } }
        })
      })
      return { route: routeOf(hapax, { scope, key, operation, input: ({ order }) => order }) }
    }
    case 'letters': {
      const operation = hapax.operation('letters', { version: 1, concurrency }, async (work, order: Order) => {
        const subject = subjectOf(order, work.generation)
        const sent = await work
          .call('posted', {
            run: ({ key }) => provider.act(process, { service: services.letter, key, subject, timeoutMs }),
            timeout,
          })
          .catch(orHushedUp(order))
        if (sent === undefined) return accepted(order, subject)
        return {
          status: 201,
          body: { tenant: order.tenant, amount: order.amount, letter: sent.id, attempt: work.attempt },
        }
      })
      return { route: routeOf(hapax, { scope, key, operation, input: ({ order }) => order }) }
    }
    case 'sales':
      return {
        route: routeOf(hapax, { name: 'sales', scope, key, mode: 'transaction', concurrency }),
        handler: (work, order) =>
          work.commit(async ({ tx, effect }) => {
            const subject = subjectOf(order, work.generation)
            await tx.insert('sales', subject)
            effect('shipment.book', { subject, item: order.item })
            if (isDeclined(order)) return declined(order, subject)
            return { status: 201, body: { tenant: order.tenant, amount: order.amount, sale: subject } }
          }),
      }
  }
}
