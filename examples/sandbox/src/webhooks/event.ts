import type { ProviderObject } from '../partners/provider.js'
import { type Fields, isObject } from '../web/fields.js'

/** What a partner tells: something of ours is final there. */
export interface PartnerEvent {
  readonly type: string
  /** The key of the call that it is about, if that had one. */
  readonly key: string | undefined
  /** The object as it stands. */
  readonly thing: ProviderObject
}

/** Reads an event, or throws: then the delivery is refused as malformed. */
export function partnerEventOf(json: unknown): PartnerEvent {
  const { type, data } = fieldsOf(json)
  const { key, object } = fieldsOf(data)
  const { id, status } = fieldsOf(object)
  if (typeof type !== 'string' || typeof id !== 'string' || typeof status !== 'string')
    throw new Error('An event has a type, and its object an id and a status.')
  return { type, key: typeof key === 'string' ? key : undefined, thing: { ...fieldsOf(object), id, status } }
}

function fieldsOf(value: unknown): Fields {
  if (isObject(value)) return value
  throw new Error('An event is an object with data.key and data.object.')
}
