import type { KeptTestimony } from '../../../src/engine/call-store.js'
import type { BusinessRow, SimulatedDatabase, StoredEvent } from '../database/database.js'
import { type Act, eventIdOf } from '../provider.js'
import { demand } from '../violation.js'

/** What the provider was told to have arrived is on record: it does not tell of it again. */
export function judgeAcknowledged({ tables }: SimulatedDatabase, act: Act): void {
  const isKept = [...tables.events.values()].some(({ committed }) => committed && isOf(committed, act))
  demand(isKept, () => `the event of ${act.id} was acknowledged, and is not on record`)
}

/** An event that is on record is one that its provider has told of, and what it says is on record with it. */
export function judgeEvent(event: StoredEvent, ledger: readonly Act[], said: readonly KeptTestimony[]): void {
  const act = ledger.find((one) => isOf(event, one))
  demand(act !== undefined, () => `there is an event ${event.eventId} of ${event.provider}, and nobody has told of it`)
  const { key } = act
  const isSaid = said.some(({ downstreamKey, says, by }) => downstreamKey === key && says === 'landed' && isEvents(by))
  demand(isSaid, () => `the event of ${act.id} is on record, and what it says is not`)
}

/** However often it is told of, and under whichever name it is remembered: of each act there is one row, of its work. */
export function judgeWork(ledger: readonly Act[], rows: readonly BusinessRow[]): void {
  for (const { id } of ledger) {
    const times = rows.filter((row) => row.id.startsWith(`${id} at `)).length
    demand(times <= 1, () => `the event of ${id} was worked on ${times} times`)
  }
}

/** What a provider has told of is not left to people, unless it takes what it gave, and he has not said that. */
export function judgeLeft(key: string, said: readonly KeptTestimony[], needsResult: () => boolean): void {
  const isTold = said.some(({ downstreamKey, says, result, by }) => {
    return downstreamKey === key && says === 'landed' && isEvents(by) && (result !== undefined || !needsResult())
  })
  demand(!isTold, () => `a doubt about ${key} was left to people, although an event tells that it landed`)
}

function isOf({ provider, eventId }: Pick<StoredEvent, 'provider' | 'eventId'>, act: Act): boolean {
  return provider === act.service && eventId === eventIdOf(act)
}

function isEvents(by: string): boolean {
  return by.startsWith('webhook')
}
