import { Refusal } from './refusal.js'
import { answer, type Incoming, type Reply } from './reply.js'
import { urlsOf } from './targets.js'
import type { Member, World } from './world.js'

/** `/_providers/…`: what the providers have done, and how they shall behave. */
export async function control(world: World, { method, path, query, sent }: Incoming): Promise<Reply> {
  const [, page = '', ...rest] = path
  const body = (typeof sent === 'object' && sent !== null ? sent : {}) as Readonly<Record<string, unknown>>
  const handler = rest.length === 0 ? pages[`${method} ${page}`] : undefined
  if (handler === undefined) throw new Refusal(404, 'not_found', `There are ${Object.keys(pages).join(', ')}.`)
  return handler(world, query, body)
}

type Page = (world: World, query: URLSearchParams, body: Readonly<Record<string, unknown>>) => Reply | Promise<Reply>

const pages: Readonly<Record<string, Page>> = {
  'GET ledger': async (world, query) => {
    const members = named(world, query)
    await Promise.all(members.map(({ book }) => book.flushed()))
    const [key, operation] = [query.get('key'), query.get('operation')]
    const entries = members.flatMap(({ book }) => book.entries)
    const isMeant = (entry: { key: string | null; operation: string }) =>
      (key === null || entry.key === key) && (operation === null || entry.operation === operation)
    return answer(200, { entries: entries.filter(isMeant) })
  },
  'GET faults': ({ faults }) => answer(200, { faults: faults.open() }),
  'POST faults': ({ faults }, _query, body) => answer(201, faults.add(body)),
  'DELETE faults': ({ faults }, query) =>
    answer(200, { cleared: faults.clear(query.get('provider') ?? undefined, query.get('operation') ?? undefined) }),
  'GET deliveries': async (world, query) => {
    const members = named(world, query)
    await Promise.all(members.map(({ book }) => book.flushed()))
    return answer(200, { deliveries: members.flatMap(deliveriesOf) })
  },
  'POST deliveries': ({ members }, _query, { event }) => {
    const member = members.find(({ book }) => book.events.has(String(event)))
    const kept = member?.book.events.get(String(event))
    if (kept === undefined) throw new Refusal(404, 'not_found', 'There is no such event.')
    member?.deliveries?.deliver(kept.event)
    return answer(202, { event: kept.event.id })
  },
  'GET settings': ({ members }) =>
    answer(200, {
      settings: members.map(({ book, isKeyHonoured }) => ({
        provider: book.provider.name,
        honoursKeys: isKeyHonoured,
      })),
    }),
  'PUT settings': (world, _query, { provider, honoursKeys }) => {
    if (typeof honoursKeys !== 'boolean')
      throw new Refusal(400, 'request_invalid', 'Send {"provider":"card","honoursKeys":false}.')
    world.member(String(provider)).isKeyHonoured = honoursKeys
    return answer(200, { provider, honoursKeys })
  },
  'PUT webhooks': (world, _query, { provider, urls }) => setTargets(world, String(provider), urlsOf(urls)),
  'POST webhooks': (world, _query, { provider, urls }) =>
    setTargets(world, String(provider), [...new Set([...world.targets.of(String(provider)), ...urlsOf(urls)])]),
}

/** Whoever says where he is now is there: what waits is sent at once. */
async function setTargets(world: World, provider: string, urls: readonly string[]): Promise<Reply> {
  const { deliveries } = world.member(provider)
  if (deliveries === undefined) throw new Refusal(400, 'request_invalid', `${provider} has no webhooks.`)
  await world.targets.set(provider, urls)
  deliveries.wake()
  return answer(200, { provider, urls })
}

function named(world: World, query: URLSearchParams): readonly Member[] {
  const name = query.get('provider')
  return name === null ? world.members : [world.member(name)]
}

function deliveriesOf({ book, deliveries }: Member) {
  return [...book.events.values()].map(({ event, state }) => ({
    event,
    state,
    attempts: deliveries?.attempts(event.id) ?? 0,
  }))
}
