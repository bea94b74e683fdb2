import { catalogue } from '../kernel/errors.js'
import type { AuditView, SaidView } from './views.js'

/** What stories of records and of effects say alike. */

export function aboutSaid({ says, by, why, at }: SaidView): string {
  return ended(`${by} said ${said(says)} at ${at}: ${why}`)
}

export function doneByPeople({ who, action, why, at, subject }: AuditView): string {
  const what = subject.startsWith('effect:') ? `${action} of ${subject.replace(':', ' ')}` : action
  return ended(`${who} did this at ${at}: ${what}. ${why}`)
}

export function coded(code: string | undefined): string {
  return code === undefined ? '' : ` (${code})`
}

const reasons: Readonly<Record<string, string>> = {
  in_progress_lock_expired: 'its process vanished or hung, nobody renewed its claim, and a sweep found it',
  call_timeout: 'a call to the outside was sent, and no answer came in time',
  result_missing: 'somebody said that its call landed, and what it returned is not known',
  answer_missing: 'somebody said that it landed, and what it is to be answered with is not known',
  abandoned: 'it stopped in the middle, its retention has passed, and nobody came back to go on with it',
  looked_too_often: 'the provider was asked about it again and again, and could not say',
}

/** An error code in words, where there are any. */
export function reasonOf(code: string): string {
  const known = Object.hasOwn(catalogue, code) ? catalogue[code as keyof typeof catalogue].summary : undefined
  const words = reasons[code] ?? known?.replace(/\.$/, '').replace(/^[A-Z]/, (first) => first.toLowerCase())
  if (words !== undefined) return `${words} (${code})`
  // An error without a code of its own goes by its name.
  return /^[A-Z]/.test(code) ? `an error came in its way, and it says no more than ${code}` : `it ended with ${code}`
}

function said(says: string): string {
  return { landed: 'that it landed', not_landed: 'that it did not land', completed: 'how it ended' }[says] ?? says
}

/** People end their reasons as they like; a sentence ends once. */
function ended(sentence: string): string {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}
