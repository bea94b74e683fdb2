import type { StoredRecord } from '../../../src/engine/record.js'
import type { Order } from '../application.js'
import type { Sent } from '../client.js'
import type { Ask } from '../provider.js'
import { demand } from '../violation.js'
import type { Task } from '../world/task.js'

/** What is known to be refused before anybody looks at it, and by which status. It never comes as far as the store. */
export const foreseeable = { idempotency_key_malformed: 400 } as const

export type Foreseen = keyof typeof foreseeable

/** It is refused, for this reason and no other. That it changes nothing is judged at every step, from its arrival on. */
export function judgeForeseen(foreseen: string, { status, body }: Sent, name: string): Foreseen {
  const expected = foreseeable[foreseen as Foreseen]
  demand(status === expected, () => `${name} was sent ${status}, and not refused with ${foreseen}`)
  const { code } = JSON.parse(body) as { readonly code?: string }
  demand(code === foreseen, () => `${name} was refused with ${code}, and not with ${foreseen}`)
  return code as Foreseen
}

/** Nobody is asked for anything on behalf of a request that is refused. */
export function judgeAsker(task: Task | undefined, { service, subject }: Ask): void {
  const code = task?.refusedWith
  demand(code === undefined, () => `a request was refused with ${code}, and asked for a ${service.name} for ${subject}`)
}

/** Every record is of a key that somebody sent as one, or that was minted for somebody who sent none. */
export function judgeSender({ scope, key }: StoredRecord, requests: readonly { readonly order: Order }[]): void {
  const isSent = ({ tenant, key: sent, isKeyless, misspelt }: Order) =>
    tenant === scope && misspelt === undefined && (isKeyless === true || sent === key)
  const isKnown = requests.some(({ order }) => isSent(order))
  demand(isKnown, () => `there is a record of ${scope}/${key}, which nobody has sent`)
}
