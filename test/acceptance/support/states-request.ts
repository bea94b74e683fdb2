import { type Answer, type Guarded, keyOf, type Policy, scopeOf } from 'hapax'

/** A request as a door would hand it to `hapax.execute`: bytes in, an answer out. */
export interface Exchange {
  readonly key: string
  readonly policy: Policy
  readonly handler: () => Promise<Answer>
  readonly subject?: readonly string[]
  readonly mediaType?: string
  readonly body?: Uint8Array | string
}

export function exchange<Tx>(asked: Exchange): Guarded<Tx> {
  const { key, policy, handler, subject = ['POST', '/payments'], mediaType = 'application/json', body = '{}' } = asked
  return {
    scope: scopeOf('acme'),
    key: keyOf(key),
    policy,
    source: { subject, mediaType, body: Buffer.from(body) },
    handler,
    toAnswer: (value) => value as Answer,
    errorToAnswer: (error) => answer(500, String(error)),
  }
}

export function answer(status: number, text: string): Answer {
  return { status, headers: [['content-type', 'text/plain']], body: Buffer.from(text) }
}
