import type { LookedUp } from 'hapax'
import { type ProviderCall, providerAt } from './provider.js'

/** Sends messages. It honours no keys: two requests are two messages, so that a doubt is asked about and never resent. */
export interface Notifier {
  send(message: Message, call: Omit<ProviderCall, 'body'>): Promise<Sent>
  find(key: string): Promise<LookedUp<Sent>>
}

export interface Message {
  readonly to: string
  readonly text: string
  /** What it is about: our own id of it. */
  readonly reference: string
}

export type Sent = { readonly status: 'sent'; readonly id: string } | { readonly status: 'refused' }

export function notifierAt(url: string): Notifier {
  const provider = providerAt(url, 'notifier')
  return {
    async send(message, call) {
      const answer = await provider.ask('/messages', { ...call, body: { ...message } })
      return answer.kind === 'declined' ? { status: 'refused' } : { status: 'sent', id: answer.object.id }
    },
    async find(key) {
      const message = await provider.find(key)
      return message === undefined ? { landed: false } : { landed: true, result: { status: 'sent', id: message.id } }
    },
  }
}
