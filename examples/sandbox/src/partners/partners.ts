import type { Settings } from '../settings.js'
import { type Airtm, airtmAt } from './airtm.js'
import { type Bank, bankAt } from './bank.js'
import { type Card, cardAt } from './card.js'
import { type Notifier, notifierAt } from './notifier.js'
import { type TrustlessWork, trustlessWorkAt } from './trustless-work.js'

/** Whom the sandbox has things done by. Each is asked over HTTP only, with a time limit and a downstream key. */
export interface Partners {
  readonly card: Card
  readonly bank: Bank
  readonly notifier: Notifier
  readonly airtm: Airtm
  readonly trustlessWork: TrustlessWork
}

export function partnersAt(url: string, settings: Pick<Settings, 'lease'>): Partners {
  return {
    card: cardAt(url),
    bank: bankAt(url),
    notifier: notifierAt(url),
    airtm: airtmAt(url, settings),
    trustlessWork: trustlessWorkAt(url, settings),
  }
}
