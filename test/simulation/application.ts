import type { Misspelling } from './misspelt.js'
import type { Mood } from './moods.js'
import type { Provider, Service } from './provider.js'
import type { Process } from './world/process.js'

/** What a client asks for. */
export interface Order {
  /** As it stands in the scope of its keys. */
  readonly tenant: string
  readonly key: string
  readonly amount: number
  /** Orders for the same thing are shipped one after another. */
  readonly item?: string
  /** It is sent without a key. The one that it has is the one that the server mints for it when it arrives. */
  readonly isKeyless?: true
  /** What it is sent with is no key, in this way. */
  readonly misspelt?: Misspelling
  /** Whatever becomes of what it leads to, its handler hides that: it answers that it was accepted, or fails by its own words. */
  readonly isHushedUp?: true
  /** A ride with a fee, which is a call of its own, and with a second receipt. */
  readonly hasFee?: true
  /** A letter whose handler needs nothing of what its call returns. */
  readonly needsNoResult?: true
  /** At first its handler fails, when it has done all that it has to. */
  readonly fails?: Failure
  /** What is missing then is missing for good: it fails whenever it is asked. */
  readonly isUnmended?: true
  /** What its handler answers when it has done all that it has to cannot be kept: it is too long, or nobody can write it down. */
  readonly unkept?: Unkept
  /** How whoever ships it meets that. */
  readonly mood?: Mood
}

/** Who commits his answer has done nothing where it cannot be written down: the second is for those who return theirs. */
export type Unkept = 'too long' | 'no JSON'

/** No longer answer is kept here. */
export const mostAnswerBytes = 1_000

/** It throws; or it answers with 503; or it says itself that nobody knows what came of it, and answers all the same. */
export type Failure = 'throws' | 'answers' | 'doubts'

/** What a failure of an operation, or of what is one transaction, is, where it is not to be tried again. */
export type OnFailure = 'store' | 'release'

/** Who says of what landed only that it did, and not with what. */
export type Curt = 'webhooks' | 'operators'

/** For so long something is missing that these handlers need: who comes when a lease is over may come too early as well. */
export const missingMs = 40_000

export const programs = ['plain', 'deposits', 'rides', 'transfers', 'letters', 'sales'] as const

/**
 * One for each way in which a handler may be written: one that knows nothing of phases and calls a provider by itself; one that
 * does so with a key of ours, so that it may be run again; one whose provider honours keys; one whose provider only has a lookup;
 * one whose provider has neither; and one that is a single transaction, leaves everything else to its effects, and may decline
 * when it has written all of that.
 */
export type Program = (typeof programs)[number]

/** Their handlers make their calls by themselves: nobody but their clients and people can say what came of these. */
export const callingAlone: ReadonlySet<string> = new Set<Program>(['plain', 'deposits'])

/** What an answer of each calls what it has made. */
export const madeBy: Readonly<Record<Program, string>> = {
  plain: 'id',
  deposits: 'deposit',
  rides: 'charge',
  transfers: 'transfer',
  letters: 'letter',
  sales: 'sale',
}

/** Of these, what workers go on with by themselves. */
export const operations: ReadonlySet<string> = new Set<Program>(['rides', 'transfers', 'letters'])

const day = 24 * 60 * 60_000

/** All that there is to ask a provider for. Whoever honours keys forgets them in the end. */
export const services = {
  payout: { name: 'payout' },
  // Nobody looks at how old a key is that a handler was given: its provider remembers it for longer than anybody asks again.
  deposit: { name: 'deposit', remembersMs: 30 * day },
  charge: { name: 'charge', remembersMs: day },
  fee: { name: 'fee', remembersMs: day },
  transfer: { name: 'transfer', lagMs: 2_000 },
  letter: { name: 'letter' },
  receipt: { name: 'receipt', remembersMs: day },
  shipment: { name: 'shipment', lagMs: 2_000 },
} as const satisfies Readonly<Record<string, Service>>

/** For so long a call to a provider may take. */
export const timeoutMs = 10_000
export const timeout = '10s'

/**
 * What clients of this application were promised: all of it is left to the defaults, and written down here so that nobody has
 * to take the engine's word for it.
 */
export const promised = {
  /** An answer is kept for so long. */
  retentionMs: day,
  /** And for so long after that its key is known to have been used. */
  tombstoneMs: 30 * day,
  /** Who has taken a key, or an effect, has it for so long, each time that he says so. */
  leaseMs: 30_000,
  /** A handler may run for so long; then whoever waits for it is told that it is still under way. */
  maxRunMs: 15 * 60_000,
  /** So many claims of an effect end without a word before it is held to end its workers. */
  deaths: 5,
  /** So often an operation is tried before it waits for its client, or for a person. */
  attempts: 40,
  /** So often a provider is asked about one call in vain before a person is. */
  looks: 50,
  /** And about one effect. */
  effectLooks: 30,
  /** Who does not answer at all is asked for so long. */
  doubtMs: 3 * day,
} as const

/** What is wanted once per request. */
export function subjectOf({ tenant, key }: Pick<Order, 'tenant' | 'key'>, generation: number): string {
  return `${tenant}/${key}#${generation}`
}

/** Of what one request wants twice, the second one. */
export function secondOf(subject: string): string {
  return `${subject}&2`
}

/** Whose it is that something was wanted for. */
export function firstOf(subject: string): string {
  return subject.endsWith('&2') ? subject.slice(0, -2) : subject
}

/** By its body, a failure that is an answer: what a handler says that is to be stored, or what is stored of what it threw. */
export function isStoredFailure(body: string): boolean {
  return body.includes('"missing":') || body.includes('"code":"handler_failed"')
}

export interface ProgramContext {
  readonly process: Process
  readonly provider: Provider
}
