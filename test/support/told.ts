import { type EventName, eventNames } from 'hapax'

/** What tests look at: all that is told but how long each step of the store took, which would stand between all the rest. */
export const toldNames: readonly EventName[] = eventNames.filter((name) => name !== 'store_answered')
