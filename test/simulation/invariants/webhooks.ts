import type { KeptTestimony } from '../../../src/engine/call-store.js'
import type { SimulatedDatabase, StoredEvent } from '../database/database.js'
import { type Act, eventIdOf } from '../provider.js'
import { demand } from '../violation.js'

/** What the provider was told to have arrived is on record: it does not tell of it again. */
export function judgeAcknowledged({ tables }: SimulatedDatabase, act: Act): void {
  const isKept = [...tables.events.values()].some(({ committed }) => committed && isOf(committed, act))
  demand(isKept, () => `the event of ${act.id} was acknowledged, and is not on record`)
}

/** With an event, what it says is on record. */
export function judgeEvent(event: StoredEvent, ledger: readonly Act[], said: readonly KeptTestimony[]): void {
  const key = ledger.find((act) => isOf(event, act))?.key
  const isSaid = said.some(({ downstreamKey, says, by }) => downstreamKey === key && says === 'landed' && isEvents(by))
  demand(isSaid, () => `the event of ${event.eventId} is on record, and what it says is not`)
}

/** What a provider has told of is not left to people. */
export function judgeLeft(key: string, said: readonly KeptTestimony[]): void {
  const isTold = said.some(({ downstreamKey, says, by }) => downstreamKey === key && says === 'landed' && isEvents(by))
  demand(!isTold, () => `a doubt about ${key} was left to people, although an event tells that it landed`)
}

function isOf({ provider, eventId }: Pick<StoredEvent, 'provider' | 'eventId'>, act: Act): boolean {
  return provider === act.service && eventId === eventIdOf(act)
}

function isEvents(by: string): boolean {
  return by.startsWith('webhook')
}
