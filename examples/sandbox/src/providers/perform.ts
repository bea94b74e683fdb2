import { createHash, randomUUID } from 'node:crypto'
import type { Book, Call } from './book.js'
import type { Operation } from './catalogue.js'
import { eventAbout } from './event.js'
import { Refusal } from './refusal.js'
import { type Asked, amountIn, askedOf } from './request-body.js'
import type { Line, ProviderEvent, Thing } from './words.js'

export interface Request {
  readonly operation: Operation
  /** The object that is to be moved on. */
  readonly id: string | undefined
  readonly key: string | undefined
  readonly sent: unknown
  readonly isKeyHonoured: boolean
  /** What the provider thinks of it. */
  readonly verdict: 'accept' | 'decline'
}

export interface Performed {
  readonly status: number
  readonly body: Thing
  readonly isReplay: boolean
  /** What there is to tell of it. */
  readonly event: ProviderEvent | undefined
}

/**
 * Does what is asked, once per key where keys are honoured, and resolves when it is on disk. From looking at the key to
 * writing the effect nothing is awaited, so that of two requests with one key the second finds the first.
 */
export async function perform(book: Book, request: Request): Promise<Performed> {
  const { operation, id, key, sent, isKeyHonoured, verdict } = request
  const asked = askedOf(operation, sent)
  const digest = digestOf([operation.name, id, asked.body])
  const known = isKeyHonoured && key !== undefined ? knownCall(book, key) : undefined
  if (known !== undefined) {
    await book.flushed()
    return answerOf(known, digest)
  }
  if (verdict === 'decline') {
    if (isKeyHonoured && key !== undefined) await book.write({ kind: 'declined', key, digest, at: now() })
    throw declined()
  }
  const line = effectOf(book, request, asked, digest)
  await book.write(line)
  return { status: line.status, body: line.thing, isReplay: false, event: line.event }
}

function knownCall({ calls, provider: { honoursKeysForMs = Number.POSITIVE_INFINITY } }: Book, key: string) {
  const call = calls.get(key)
  return call !== undefined && Date.now() - Date.parse(call.at) < honoursKeysForMs ? call : undefined
}

function answerOf(known: Call, digest: string): Performed {
  if (known.digest !== digest) throw new Refusal(422, 'key_reused', 'The key was used for another request.')
  if (known.kind === 'declined') throw declined()
  return { status: known.status, body: known.thing, isReplay: true, event: undefined }
}

function declined(): Refusal {
  return new Refusal(402, 'declined', 'The provider declined, and has done nothing.')
}

type Effect = Extract<Line, { kind: 'effect' }>

function effectOf(book: Book, { operation, id, key }: Request, { body, confirm }: Asked, digest: string): Effect {
  const { provider, entries } = book
  const at = now()
  const before = operation.kind === 'move' ? movable(book, operation.from, id) : undefined
  const final = typeof operation.final === 'string' ? operation.final : operation.final(body)
  const made = before ?? created(operation, at)
  const thing: Thing = {
    ...made,
    ...body,
    ...identityOf(made),
    status: confirm === 'now' ? final : (operation.meanwhile ?? final),
    key: key ?? null,
    operation: operation.name,
    updatedAt: at,
  }
  const entry = {
    id: `${provider.name}_${entries.length + 1}`,
    provider: provider.name,
    operation: operation.name,
    key: key ?? null,
    amount: amountIn(body) ?? amountIn(made) ?? null,
    currency: thing.currency ?? null,
    object: thing.id,
    at,
    ...(body.reference !== undefined && { reference: body.reference }),
  }
  const status = operation.kind === 'create' ? 201 : 200
  const effect = { kind: 'effect', entry, digest, status, thing } as const
  if (confirm !== 'now') return { ...effect, awaited: { status: final, by: confirm } }
  return provider.signs === undefined ? effect : { ...effect, event: eventAbout(provider, thing) }
}

/** What a caller cannot set. */
function identityOf({ id, object, createdAt, confirmation_uri }: Thing) {
  return { id, object, createdAt, ...(confirmation_uri !== undefined && { confirmation_uri }) }
}

function created(operation: Operation, at: string): Thing {
  const prefix = operation.kind === 'create' ? operation.prefix : ''
  const id = `${prefix}_${randomUUID().replaceAll('-', '')}`
  const adds = operation.kind === 'create' ? operation.adds?.(id) : undefined
  const { object, name } = operation
  return { id, object, status: '', key: null, operation: name, createdAt: at, updatedAt: at, ...adds }
}

function movable({ things }: Book, from: string, id = ''): Thing {
  const thing = things.get(id)
  if (thing === undefined) throw new Refusal(404, 'not_found', 'There is no such object.')
  if (thing.status === from) return thing
  throw new Refusal(409, 'wrong_state', `It must be ${from}.`, { status: thing.status })
}

/** The same for bodies that differ in the order of their members only. */
function digestOf(value: unknown): string {
  const sorted = (_name: string, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part
  return createHash('sha256').update(JSON.stringify(value, sorted)).digest('hex')
}

function now(): string {
  return new Date().toISOString()
}
