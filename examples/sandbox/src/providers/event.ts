import { randomUUID } from 'node:crypto'
import type { Provider } from './catalogue.js'
import type { ProviderEvent, Thing } from './words.js'

/** Tells that an object has become what it is. */
export function eventAbout({ name }: Provider, object: Thing): ProviderEvent {
  return {
    id: `evt_${randomUUID().replaceAll('-', '')}`,
    type: `${object.object}.${object.status}`,
    createdAt: object.updatedAt,
    provider: name,
    data: { operation: object.operation, key: object.key, object },
  }
}
