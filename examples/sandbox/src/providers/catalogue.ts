/** Who the providers are, what they do, and how good they are at it. */

export interface Provider {
  readonly name: string
  /** How long a key stands for its first request; absent where the same key again is another effect. */
  readonly honoursKeysForMs?: number
  readonly keyLength: number
  /** How its events are signed; absent where it has none. */
  readonly signs?: 'standard' | 'stripe'
  readonly operations: readonly Operation[]
}

export type Operation = Creation | Move

interface Step {
  readonly name: string
  /** The collection its object is in, and what such an object is called. */
  readonly on: string
  readonly object: string
  readonly needs: readonly Need[]
  /** The status until it is confirmed; absent where it is final at once, always. */
  readonly meanwhile?: string
  readonly final: string | ((body: Body) => string)
  readonly confirm: Confirm
}

export interface Creation extends Step {
  readonly kind: 'create'
  readonly prefix: string
  /** What the provider adds to the object. */
  readonly adds?: (id: string) => Body
}

export interface Move extends Step {
  readonly kind: 'move'
  readonly from: string
}

export type Need = 'amount' | 'currency' | 'to' | 'text' | 'customer' | 'destination.ref' | 'decision'
export type Confirm = 'now' | 'webhook' | 'manual'
export type Body = Readonly<Record<string, unknown>>

const dayMs = 24 * 60 * 60 * 1_000
const money = ['amount', 'currency'] as const

const charge = { on: 'charges', object: 'charge', confirm: 'now' } as const
const hold = { on: 'holds', object: 'hold', confirm: 'now' } as const
const escrow = { on: 'escrows', object: 'escrow' } as const
const held = { ...hold, kind: 'move', needs: [], from: 'held' } as const
const funded = { ...escrow, kind: 'move', needs: [], from: 'funded', confirm: 'now' } as const

const card: Provider = {
  name: 'card',
  honoursKeysForMs: dayMs,
  keyLength: 255,
  operations: [
    { ...charge, kind: 'create', name: 'charge', prefix: 'ch', needs: money, final: 'succeeded' },
    { ...charge, kind: 'move', name: 'refund', from: 'succeeded', needs: [], final: 'refunded' },
  ],
}

const airtm: Provider = {
  name: 'airtm',
  keyLength: 255,
  signs: 'standard',
  operations: [
    {
      kind: 'create',
      name: 'payin',
      on: 'payins',
      object: 'payin',
      prefix: 'pin',
      needs: money,
      meanwhile: 'pending',
      final: 'confirmed',
      confirm: 'webhook',
      adds: (id) => ({ confirmation_uri: `https://airtm.example/confirm/${id}` }),
    },
    {
      kind: 'create',
      name: 'payout',
      on: 'payouts',
      object: 'payout',
      prefix: 'po',
      needs: [...money, 'destination.ref'],
      meanwhile: 'pending',
      final: ({ destination }) => ((destination as { ref: string }).ref.startsWith('fail_') ? 'failed' : 'completed'),
      confirm: 'webhook',
    },
    { ...hold, kind: 'create', name: 'reserve', prefix: 'hold', needs: money, final: 'held' },
    { ...held, name: 'release', final: 'released' },
    { ...held, name: 'refund', final: 'refunded' },
  ],
}

const resolutions = new Map([
  ['release', 'released'],
  ['refund', 'refunded'],
])

const trustlessWork: Provider = {
  name: 'trustless-work',
  honoursKeysForMs: 7 * dayMs,
  keyLength: 255,
  signs: 'stripe',
  operations: [
    {
      ...escrow,
      kind: 'create',
      name: 'create',
      prefix: 'esc',
      needs: money,
      meanwhile: 'creating',
      final: 'created',
      confirm: 'webhook',
    },
    { ...funded, name: 'fund', from: 'created', meanwhile: 'funding', final: 'funded', confirm: 'webhook' },
    { ...funded, name: 'release', meanwhile: 'releasing', final: 'released' },
    { ...funded, name: 'refund', meanwhile: 'refunding', final: 'refunded' },
    { ...funded, name: 'dispute', meanwhile: 'disputing', final: 'disputed' },
    {
      ...funded,
      name: 'resolve',
      from: 'disputed',
      needs: ['decision'],
      meanwhile: 'resolving',
      final: ({ decision }) => resolutions.get(String(decision)) ?? 'split',
    },
  ],
}

const notifier: Provider = {
  name: 'notifier',
  keyLength: 255,
  operations: [
    {
      kind: 'create',
      name: 'send',
      on: 'messages',
      object: 'message',
      prefix: 'msg',
      needs: ['to', 'text'],
      final: 'sent',
      confirm: 'now',
    },
  ],
}

const bank: Provider = {
  name: 'bank',
  honoursKeysForMs: dayMs,
  keyLength: 40,
  operations: [
    {
      kind: 'create',
      name: 'withdraw',
      on: 'withdrawals',
      object: 'withdrawal',
      prefix: 'wd',
      needs: [...money, 'customer'],
      final: 'completed',
      confirm: 'now',
    },
  ],
}

export const catalogue: readonly Provider[] = [card, airtm, trustlessWork, notifier, bank]
