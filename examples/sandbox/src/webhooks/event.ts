import type { Answer } from '../partners/ask.js'

/** What a partner tells: something of ours is final there. */
export interface PartnerEvent {
  readonly type: string
  /** The key of the call that it is about, if that had one. */
  readonly key: string | undefined
  /** The object as it stands. */
  readonly thing: Answer
}

/** Reads an event, or throws: then the delivery is refused as malformed. */
export function partnerEventOf(json: unknown): PartnerEvent {
  const { type, data } = asObject(json)
  const { key, object } = asObject(data)
  if (typeof type !== 'string') throw new Error('An event has a type.')
  return { type, key: typeof key === 'string' ? key : undefined, thing: asObject(object) }
}

function asObject(value: unknown): Answer {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Answer
  throw new Error('An event is an object with data.key and data.object.')
}
