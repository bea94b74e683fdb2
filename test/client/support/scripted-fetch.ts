/** A `fetch` that answers from a list, and notes what it was given. After the last entry it goes on with it. */
export interface ScriptedFetch {
  readonly fetch: typeof fetch
  readonly sent: Sent[]
}

export interface Sent {
  readonly url: string
  readonly method: string | undefined
  readonly headers: Headers
  readonly body: string
  readonly key: string | null
  readonly signal: AbortSignal | null | undefined
}

export type Step = Response | Error | ((signal: AbortSignal | null | undefined) => Promise<Response>)

export function scriptedFetch(...steps: Step[]): ScriptedFetch {
  const sent: Sent[] = []
  return {
    sent,
    async fetch(input, init) {
      const headers = new Headers(init?.headers)
      const body = await new Response(init?.body ?? null).text()
      const url = typeof input === 'object' && 'url' in input ? input.url : String(input)
      sent.push({ url, method: init?.method, headers, body, key: headers.get('idempotency-key'), signal: init?.signal })
      const step = steps[Math.min(sent.length, steps.length) - 1] ?? new Error('nothing is planned')
      if (step instanceof Error) throw step
      return step instanceof Response ? step.clone() : step(init?.signal)
    },
  }
}

export const reply = (status: number, headers: Record<string, string> = {}, body?: unknown): Response =>
  body === undefined ? new Response(null, { status, headers }) : Response.json(body, { status, headers })

/** As Hapax says it. */
export const problem = (status: number, code: string, headers: Record<string, string> = {}, retryable = true) =>
  reply(status, { 'content-type': 'application/problem+json', ...headers }, { status, code, retryable })

export const reset = () => new TypeError('fetch failed', { cause: new Error('ECONNRESET') })
