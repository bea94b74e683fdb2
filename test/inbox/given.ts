import { createHmac } from 'node:crypto'
import {
  type EventName,
  type Events,
  type Inbox,
  type InboxHost,
  type InboxOptions,
  inbox,
  type LogEntry,
  standardWebhooks,
  type Testimony,
  type WebhookReply,
} from 'hapax'
import { type ManualClock, manualClock } from '../support/manual-clock.js'

/** What stands in for a transaction: rows that are kept when it commits. */
export interface Rows {
  insert(row: string): void
}

/**
 * What stands in for an engine behind the port of the inbox, so that its words over HTTP can be tried without a database.
 * It promises what the port says, one event after the other; what a real store promises is shown on real ones.
 */
export interface Host extends InboxHost<Rows> {
  readonly clock: ManualClock
  readonly known: Set<string>
  readonly rows: string[]
  readonly stored: Testimony[]
  readonly testifiedOf: (readonly Testimony[])[]
  readonly logged: LogEntry[]
  readonly told: [EventName, unknown][]
  /** Every step of this in order. */
  readonly steps: string[]
  /** Fails the next call of this step. */
  fail(step: 'receive' | 'commit' | 'testified', error: unknown): void
}

export function host(): Host {
  const clock = manualClock()
  const failures = new Map<string, unknown>()
  const steps: string[] = []
  const step = (name: string) => {
    steps.push(name)
    if (!failures.has(name)) return
    const error = failures.get(name)
    failures.delete(name)
    throw error
  }
  const made: Omit<Host, keyof InboxHost<Rows>> & { readonly clock: ManualClock } = {
    clock,
    known: new Set(),
    rows: [],
    stored: [],
    testifiedOf: [],
    logged: [],
    told: [],
    steps,
    fail: (name, error) => void failures.set(name, error),
  }
  return {
    ...made,
    inbox: {
      async receive({ provider, eventId }, body) {
        step('receive')
        const name = `${provider} ${eventId}`
        if (made.known.has(name)) return { kind: 'duplicate' }
        const inserted: string[] = []
        const { value, testimonies } = await body({ insert: (row) => inserted.push(row) })
        step('commit')
        made.known.add(name)
        made.rows.push(...inserted)
        made.stored.push(...testimonies)
        return { kind: 'processed', value }
      },
      reap: async () => 0,
    },
    chores: {
      async testified(testimonies) {
        step('testified')
        made.testifiedOf.push(testimonies)
      },
    },
    log: (entry) => void made.logged.push(entry),
    events: {
      emit: <Name extends EventName>(name: Name, event: (detail: 'whole') => Events[Name]) =>
        void made.told.push([name, event('whole')]),
    },
  }
}

export const secret = `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`
export const otherSecret = `whsec_${Buffer.from('another secret of 24 byt').toString('base64')}`

export interface Payment {
  readonly type: string
  readonly data: { readonly reference: string }
}

/** An inbox that writes one row for each event. */
export function airtm(hapax: Host, options: Partial<InboxOptions<Rows, Payment>> = {}): Inbox {
  return inbox<Rows, Payment>({
    hapax,
    provider: 'airtm',
    verify: standardWebhooks({ secrets: [secret] }),
    handle: ({ eventId, tx }) => {
      hapax.steps.push('handle')
      tx.insert(eventId)
    },
    ...options,
  })
}

export const paid = '{"type":"payment.succeeded","data":{"reference":"dk_1"}}'

/** A delivery as an honest provider signs it, by hand: no code of ours, and no clock but the one of the test. */
export function signed(hapax: Host, { id = 'msg_1', body = paid as string | Uint8Array, at = 0, by = secret } = {}) {
  const timestamp = String(Math.floor((hapax.clock.now() + at) / 1_000))
  const bytes = Buffer.from(body as string)
  const hmac = createHmac('sha256', Buffer.from(by.slice('whsec_'.length), 'base64'))
  const signature = hmac.update(`${id}.${timestamp}.`).update(bytes).digest('base64')
  return {
    headers: { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` },
    body: bytes,
  }
}

/** A problem, as a provider reads it. */
export function problemIn({ body }: Pick<WebhookReply, 'body'>): Record<string, unknown> {
  return JSON.parse(body)
}
