import { ProviderFailed } from '../partners/provider.js'
import { errorBody } from './problems.js'

/** What came of a call: what the partner gave, or that it said no. Anything else that a call throws is thrown on. */
export type Heard<T> =
  | { readonly kind: 'done'; readonly result: T }
  | { readonly kind: 'refused'; readonly refusal: ProviderFailed }

export async function heard<T>(call: Promise<T>): Promise<Heard<T>> {
  try {
    return { kind: 'done', result: await call }
  } catch (error) {
    if (error instanceof ProviderFailed && error.meaning === 'answered') return { kind: 'refused', refusal: error }
    throw error
  }
}

/** A refusal is an answer like any other: it is stored, and a retry is told the same. */
export function refusedReply({ message }: ProviderFailed) {
  return { status: 402, body: errorBody('partner_declined', message) }
}
