import { type Answer, type Engine, keyOf, type Outcome, type Policy, type ScopeParts, scopeOf, type Work } from 'hapax'

/** A request as a door would hand it to the engine: bytes in, and an answer of any status, header and bytes out. */
export interface Asked {
  readonly policy: Policy
  readonly key: string
  readonly scope?: string | ScopeParts
  readonly subject?: readonly string[]
  readonly mediaType?: string
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

export async function ask<Tx>(
  hapax: Engine<Tx>,
  { policy, key, scope = 'acme', subject = ['POST', '/payments'], ...request }: Asked,
  handler: (work: Work<Tx>) => Promise<Answer>,
): Promise<Outcome> {
  const { mediaType = 'application/json', body = '{}', headers = {} } = request
  return hapax.execute({
    scope: scopeOf(scope),
    key: keyOf(key),
    policy,
    source: { subject, mediaType, body: Buffer.from(body), header: (name) => headers[name] },
    handler,
    toAnswer: (value) => value as Answer,
    errorToAnswer: () => answer(500, 'failed'),
  })
}

export function answer(status: number, body: string | Uint8Array, headers: Answer['headers'] = []): Answer {
  return { status, headers, body: typeof body === 'string' ? new TextEncoder().encode(body) : body }
}

/** What a caller sees of an outcome: the answer and whether it was a replay, or why there is none. */
export function seen(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'answered': {
      const { answer, replayed } = outcome
      const body = answer.kind === 'kept' ? new TextDecoder().decode(answer.body) : '(withheld)'
      return `${answer.status} ${body}${replayed ? ' again' : ''}`
    }
    case 'accepted':
      return 'accepted'
    case 'refused':
      return outcome.error.code
    case 'threw':
      return `threw ${(outcome.error as Error).message}`
  }
}
