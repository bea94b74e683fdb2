/** What becomes of a request: an answer, or none. */
export type Reply =
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly body: unknown
      readonly headers?: Readonly<Record<string, string>>
    }
  /** The connection stays open and says nothing. */
  | { readonly kind: 'silence' }
  /** The connection is cut. */
  | { readonly kind: 'reset' }

export function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return { kind: 'answer', status, body, headers }
}

/** A request as the routes see it. */
export interface Incoming {
  readonly method: string
  /** The parts of its path. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
  readonly key: string | undefined
  /** Its JSON; `undefined` where there is none. */
  readonly sent: unknown
}
