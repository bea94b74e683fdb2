import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Book, bookOf } from './book.js'
import { catalogue } from './catalogue.js'
import { type Deliveries, deliveriesOf } from './deliveries.js'
import { type Faults, faultsOf } from './faults.js'
import { openJournal } from './journal.js'
import { Refusal } from './refusal.js'
import { settleAll } from './settle.js'
import { signOf } from './signatures.js'
import { openTargets, type Targets } from './targets.js'
import type { Line, ProviderEvent } from './words.js'

/** All providers, with what they have done and what is wrong with them today. */
export interface World {
  readonly faults: Faults
  readonly targets: Targets
  readonly members: readonly Member[]
  /** Throws where there is none of this name. */
  member(name: string): Member
  close(): Promise<void>
}

export interface Member {
  readonly book: Book
  /** Absent where it has no events. */
  readonly deliveries: Deliveries | undefined
  isKeyHonoured: boolean
  /** Hands events over that have just come to be, and makes final what waits for nobody. */
  goOn(event?: ProviderEvent): Promise<void>
}

/** Opens the books in a directory, and takes up what was left undone. */
export async function openWorld(directory: string, failed: (error: unknown) => never): Promise<World> {
  await mkdir(directory, { recursive: true })
  const targets = await openTargets(join(directory, 'webhooks.json'))
  const members = await Promise.all(
    catalogue.map(async (provider): Promise<Member> => {
      const journal = await openJournal<Line>(join(directory, `${provider.name}.jsonl`), failed)
      return memberOf(bookOf(provider, journal), targets)
    }),
  )
  for (const { book, deliveries, goOn } of members) {
    for (const { event, state } of book.events.values()) if (state === 'pending') deliveries?.deliver(event)
    await goOn()
  }
  return {
    faults: faultsOf(catalogue),
    targets,
    members,
    member(name) {
      const found = members.find(({ book }) => book.provider.name === name)
      if (found !== undefined) return found
      throw new Refusal(404, 'not_found', `The providers are ${catalogue.map((one) => one.name).join(', ')}.`)
    },
    async close() {
      for (const { deliveries } of members) deliveries?.stop()
      await Promise.all(members.map(({ book }) => book.close()))
    },
  }
}

function memberOf(book: Book, targets: Targets): Member {
  const { provider } = book
  const sign = signOf(provider)
  const deliveries = sign && deliveriesOf(book, sign, () => targets.of(provider.name))
  return {
    book,
    deliveries,
    isKeyHonoured: provider.honoursKeysForMs !== undefined,
    async goOn(event) {
      const events = await settleAll(book)
      for (const one of event === undefined ? events : [event, ...events]) deliveries?.deliver(one)
    },
  }
}
