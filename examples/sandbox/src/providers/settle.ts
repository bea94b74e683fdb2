import type { Book } from './book.js'
import { eventAbout } from './event.js'
import { Refusal } from './refusal.js'
import type { ProviderEvent, Thing } from './words.js'

/** Makes every object final that waits for nobody, and gives the events that tell of it, once they are on disk. */
export async function settleAll(book: Book): Promise<ProviderEvent[]> {
  const ready = [...book.awaited].filter(([, { by }]) => by === 'webhook')
  const events = ready.map(([id]) => settle(book, id).event)
  await book.flushed()
  return events.filter((event) => event !== undefined)
}

/** Makes an object final that waits for a person. One that is final already is given as it is. */
export async function confirm(book: Book, id: string): Promise<{ thing: Thing; event?: ProviderEvent | undefined }> {
  const thing = book.things.get(id)
  if (thing === undefined) throw new Refusal(404, 'not_found', 'There is no such object.')
  const settled = book.awaited.has(id) ? settle(book, id) : { thing }
  await book.flushed()
  return settled
}

function settle(book: Book, id: string): { thing: Thing; event?: ProviderEvent | undefined } {
  const before = book.things.get(id)
  const next = book.awaited.get(id)
  if (before === undefined || next === undefined) throw new Error(`${id} awaits nothing.`)
  const thing = { ...before, status: next.status, updatedAt: new Date().toISOString() }
  const event = book.provider.signs === undefined ? undefined : eventAbout(book.provider, thing)
  // Whoever needs it on disk waits for the book; a failing disk ends the process.
  void book.write({ kind: 'settled', thing, ...(event !== undefined && { event }) })
  return { thing, event }
}
