import { type Bank, bankAt } from './bank.js'
import { type Card, cardAt } from './card.js'
import { type Notifier, notifierAt } from './notifier.js'

/** Whom the sandbox has things done by. Each is asked over HTTP only, with a time limit and a downstream key. */
export interface Partners {
  readonly card: Card
  readonly bank: Bank
  readonly notifier: Notifier
}

export function partnersAt(url: string): Partners {
  return { card: cardAt(url), bank: bankAt(url), notifier: notifierAt(url) }
}
