import type { Client } from './client.js'
import type { Narrator } from './narrator.js'
import type { Stage } from './stage.js'

/** What a scene is played with. */
export interface Play {
  readonly stage: Stage
  readonly client: Client
  readonly narrator: Narrator
}

export type Scene = (play: Play) => Promise<void>

/** How often the card processor charged for one of our objects: by its own ledger. */
export async function chargesFor({ client }: Play, reference: unknown): Promise<number> {
  return (await client.ledger('provider=card&operation=charge')).filter((entry) => entry.reference === reference).length
}

export function slowCharge({ client }: Play, ms: number): Promise<void> {
  return client.tell('POST', '/_providers/faults', { provider: 'card', operation: 'charge', mode: 'slow', ms })
}
