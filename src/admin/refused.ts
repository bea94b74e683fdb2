import type { Acted, AuditEntry } from '../engine/audit-store.js'
import type { Settled } from '../engine/operating.js'

/** Why an operator does not get what he asked for. These are no errors of a guarded request, and have a table of their own. */
export const refusals = {
  closed: { status: 403, title: 'Nobody was let in: this API was given no authorize function.' },
  unauthorized: { status: 401, title: 'Say who you are.' },
  forbidden: { status: 403, title: 'You may not do this here.' },
  read_only: { status: 403, title: 'This API only shows.' },
  cross_site: { status: 403, title: 'Another site may not do this.' },
  not_found: { status: 404, title: 'There is nothing here.' },
  method_not_allowed: { status: 405, title: 'There is something here, but not for this method.' },
  too_large: { status: 413, title: 'The body is too long.' },
  media_type: { status: 415, title: 'Send JSON.' },
  invalid: { status: 400, title: 'This was not understood.' },
  absent: { status: 404, title: 'There is no such record.' },
  not_in_doubt: { status: 409, title: 'Only what is unknown can be settled.' },
  changed: { status: 409, title: 'It has changed since: look again.' },
  too_early: { status: 409, title: 'A holder that is only slow may still act.' },
  result_missing: { status: 422, title: 'It landed, and its handler needs what the call returned.' },
  result_unusable: {
    status: 422,
    title: 'Its handler cannot go on with this result. Give what the provider returns for the call, all of it.',
  },
  answer_missing: { status: 422, title: 'It landed, and only its answer can settle it: say completed.' },
  unreadable: { status: 409, title: 'What is on record cannot be read here: its key is elsewhere.' },
  not_completed: { status: 409, title: 'Only an answer can be purged.' },
  effects_open: { status: 409, title: 'It has effects that are not final.' },
  kind_unknown: { status: 409, title: 'Its kind is not known here: ask where its application runs.' },
  busy: { status: 429, title: 'There are too many at once.' },
  unsupported: { status: 501, title: 'This store cannot do that.' },
} as const

export type RefusalCode = keyof typeof refusals

/** Thrown by what operators do, and told as a problem. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly code: RefusalCode
  readonly retryAfterMs: number | undefined

  constructor(code: RefusalCode, detail: string = refusals[code].title, retryAfterMs?: number) {
    super(detail)
    this.code = code
    this.retryAfterMs = retryAfterMs
  }

  get status(): number {
    return refusals[this.code].status
  }
}

/** What was written down, or thrown why not. */
export function entriesOf(acted: AnyActed, of: 'record' | 'effect' = 'record'): readonly AuditEntry[] {
  if (acted.kind === 'done') return acted.entries
  if (acted.why === 'state') throw new Refused('not_in_doubt', stateWords(of, acted.state))
  if (acted.why === 'absent') throw new Refused('absent', `There is no such ${of}.`)
  throw new Refused(acted.why, undefined, 'retryAfterMs' in acted ? acted.retryAfterMs : undefined)
}

type AnyActed = Acted | Settled

export function stateWords(of: 'record' | 'effect', state: string | undefined): string {
  const why = state === 'in_progress' ? ': somebody holds it' : state === 'completed' ? ': it has its answer' : ''
  return `The ${of} is ${state}${why}.`
}

/** By its name and code, so that one of another copy of this package is recognised, too. */
export function isRefused(error: unknown): error is Refused {
  return error instanceof Error && error.name === 'Refused' && Object.hasOwn(refusals, (error as Refused).code)
}

export function isRefusalCode(code: unknown): code is RefusalCode {
  return typeof code === 'string' && Object.hasOwn(refusals, code)
}
