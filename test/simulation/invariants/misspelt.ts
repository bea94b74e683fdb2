import type { StoredRecord } from '../../../src/engine/record.js'
import type { Order } from '../application.js'
import { malformed } from '../misspelt.js'
import type { Ask } from '../provider.js'
import type { Sent } from '../sent.js'
import { demand } from '../violation.js'
import type { Task } from '../world/task.js'

/** It is refused, for this reason and no other. That it changes nothing is judged at every step, from its arrival on. */
export function judgeMalformed({ status, body }: Sent, name: string): void {
  demand(status === 400, () => `${name} was sent ${status}, and not refused with ${malformed}`)
  const { code } = JSON.parse(body) as { readonly code?: string }
  demand(code === malformed, () => `${name} was refused with ${code}, and not with ${malformed}`)
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
