import type { FingerprintStrategy, Unread } from '../engine/fingerprint/strategy.js'
import type { Freshness } from '../engine/freshness.js'
import type { Concurrency, FailureMeaning, OnError, Policy, PolicyOptions } from '../engine/policy.js'
import type { ErrorCode } from '../kernel/errors.js'
import type { KeySyntax } from './header.js'
import type { Profile, ReplayRule } from './profile.js'

/** What a guarded route is published from. */
export interface PublishedRoute {
  readonly policy: Policy
  readonly key: 'required' | 'optional'
  readonly methods: readonly string[]
  readonly profile: Profile
  readonly keepHeaders: readonly string[]
  readonly bodyLimit: number
  /** Empty when there is no status route. */
  readonly statusAt: string
  readonly authorizeReplay: unknown
}

/** What the options of a route say, and its checked policy no longer does. */
export type PublishedOptions = Pick<PolicyOptions, 'onError' | 'fingerprint'>

/** A length of time, for programs and for people. `ms` is `null` for ever, which JSON has no number for. */
export interface PublishedTime {
  readonly ms: number | null
  readonly text: string
}

/** What the clients of one guarded route may rely on. It is served as it is, so its names are those of the wire. */
export interface RouteContract {
  readonly name: string
  readonly profile: string
  readonly methods: readonly string[]
  readonly key: {
    readonly header: string
    readonly required: boolean
    readonly syntax: KeySyntax
    readonly text: string
    readonly min_length: number
    readonly max_length: number
    /** The least number of different characters. */
    readonly min_variety?: number
    /** A regular expression as text, with its flags. */
    readonly format?: { readonly pattern: string; readonly flags: string }
  }
  /** What makes two requests with one key the same, beside method and path, and query and media type where they count. */
  readonly compared: {
    readonly by: FingerprintStrategy['kind']
    readonly text: string
    readonly fields?: readonly string[]
    readonly header?: string
    /** Headers that are compared beside the body. */
    readonly headers?: readonly string[]
    /** What does not count. */
    readonly without?: readonly Unread[]
  }
  readonly retention: PublishedTime
  /** How a request says when it was first made, where one that comes too late is refused. */
  readonly freshness?: { readonly by: Freshness['by']; readonly text: string; readonly header?: string }
  readonly after_expiry: {
    readonly key: Policy['onExpired']
    readonly text: string
    /** For how long its first use is still known. */
    readonly recognised_for: PublishedTime
  }
  readonly duplicates: { readonly mode: Concurrency; readonly text: string; readonly wait?: PublishedTime }
  readonly answers: { readonly text: string }
  readonly failures: { readonly meaning: FailureMeaning | OnError | 'decided'; readonly text: string }
  readonly crashes: { readonly meaning: Policy['onCrash']; readonly text: string }
  readonly store_down: { readonly meaning: 'refuse' | 'run'; readonly text: string }
  readonly replay: ReplayRule & {
    readonly text: string
    readonly marked_by: Readonly<Record<string, string>>
    readonly carries: readonly string[]
    readonly never_carries: readonly string[]
  }
  readonly limits: {
    readonly answer_bytes: number
    readonly body_bytes: number
    readonly run: PublishedTime
  }
  /** The status of every error that this route can end in. */
  readonly statuses: Readonly<Partial<Record<ErrorCode, number>>>
  /** Where a caller may ask how its key stands, with the key in its header. */
  readonly key_status?: string
  /** What an error looks like, and where all of them are explained. */
  readonly errors: { readonly place: string; readonly media_type: string; readonly example: unknown }
}
