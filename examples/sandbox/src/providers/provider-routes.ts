import { setTimeout as delay } from 'node:timers/promises'
import type { Book } from './book.js'
import type { Operation } from './catalogue.js'
import type { Fault } from './faults.js'
import { perform } from './perform.js'
import { Refusal } from './refusal.js'
import { answer, type Incoming, type Reply } from './reply.js'
import { confirm } from './settle.js'
import type { Thing } from './words.js'
import type { Member, World } from './world.js'

/** The paths of the providers themselves: `/{provider}/{collection}` and what lies below. */
export async function askProvider(world: World, incoming: Incoming): Promise<Reply> {
  const [name = '', collection = '', id, verb] = incoming.path
  const member = world.member(name)
  const { operations } = member.book.provider
  if (incoming.path.length > 4) throw nothing()
  if (incoming.method === 'GET' && verb === undefined) return look(world, member, collection, id, incoming.query)
  if (incoming.method !== 'POST') throw nothing()
  const isMeant = (one: Operation) =>
    one.on === collection && (one.kind === 'create' ? id === undefined : id !== undefined && one.name === verb)
  const operation = operations.find(isMeant)
  if (operation !== undefined) return act(world, member, operation, id, incoming)
  if (verb !== 'confirm' || id === undefined || !operations.some(({ on }) => on === collection)) throw nothing()
  const { thing, event } = await confirm(member.book, id)
  if (event !== undefined) member.deliveries?.deliver(event)
  return answer(200, thing)
}

async function act(
  { faults }: World,
  { book, isKeyHonoured, goOn }: Member,
  operation: Operation,
  id: string | undefined,
  { key, sent }: Incoming,
): Promise<Reply> {
  refuseBadKey(book, key)
  const fault = faults.take(book.provider.name, operation.name)
  const early = beforeEffect(fault)
  if (early !== undefined) return early
  const verdict = fault?.mode === 'decline' ? 'decline' : 'accept'
  const { status, body, event, isReplay } = await perform(book, { operation, id, key, sent, isKeyHonoured, verdict })
  // Behind the answer, which is on its way first wherever nothing holds it back.
  setImmediate(() => void goOn(event).catch((error: unknown) => console.error('could not go on:', error)))
  return afterEffect(fault, answer(status, body, isReplay ? { 'Idempotent-Replayed': 'true' } : {}))
}

/** An object, or what was done under a key. */
async function look(
  { faults }: World,
  { book }: Member,
  collection: string,
  id: string | undefined,
  query: URLSearchParams,
): Promise<Reply> {
  const key = query.get('key') ?? undefined
  const fault = key === undefined ? undefined : faults.take(book.provider.name, 'lookup')
  const early = beforeEffect(fault)
  if (early !== undefined) return early
  if (fault?.mode === 'decline') throw new Refusal(402, 'declined', 'The provider does not tell.')
  await book.flushed()
  if (collection === 'calls' && id === undefined && key !== undefined) return afterEffect(fault, callUnder(book, key))
  const object = book.provider.operations.find(({ on }) => on === collection)?.object
  if (object === undefined) throw nothing()
  if (id === undefined) return afterEffect(fault, answer(200, { [collection]: thingsOf(book, object, key) }))
  const thing = book.things.get(id)
  if (thing?.object !== object) throw nothing()
  return answer(200, thing)
}

function callUnder({ calls, things }: Book, key: string): Reply {
  const call = calls.get(key)
  if (call?.kind !== 'effect') return answer(200, { found: false })
  const { status, thing, entry } = call
  return answer(200, { found: true, operation: entry.operation, status, answer: thing, object: things.get(thing.id) })
}

function thingsOf({ entries, things }: Book, object: string, key: string | undefined): Thing[] {
  const all = [...things.values()].filter((thing) => thing.object === object)
  if (key === undefined) return all
  const touched = new Set(entries.filter((entry) => entry.key === key).map((entry) => entry.object))
  return all.filter(({ id }) => touched.has(id))
}

function beforeEffect(fault: Fault | undefined): Reply | undefined {
  if (fault?.mode === 'timeout_before') return { kind: 'silence' }
  if (fault?.mode === 'reset') return { kind: 'reset' }
  return undefined
}

async function afterEffect(fault: Fault | undefined, reply: Reply): Promise<Reply> {
  switch (fault?.mode) {
    case 'timeout_after_effect':
      return { kind: 'silence' }
    case 'error_500_after_effect':
      throw new Refusal(500, 'provider_error', 'Something went wrong at the provider.')
    case 'slow':
      await delay(fault.ms, undefined, { ref: false })
      return reply
    default:
      return reply
  }
}

function refuseBadKey({ provider: { keyLength } }: Book, key: string | undefined): void {
  if (key === undefined || (key.length <= keyLength && /^[\x20-\x7e]+$/.test(key))) return
  throw new Refusal(400, 'key_invalid', `Idempotency-Key has 1 to ${keyLength} printable characters.`)
}

function nothing(): Refusal {
  return new Refusal(404, 'not_found', 'There is nothing here.')
}
