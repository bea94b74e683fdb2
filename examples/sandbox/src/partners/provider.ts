import type { CallFailure } from 'hapax'

/** One of the simulated providers, as it is reached over HTTP. It knows paths and keys, and nothing of what they mean. */
export interface Provider {
  /** Has something done, under the downstream key. */
  ask(path: string, call: ProviderCall): Promise<ProviderAnswer>
  /** What was answered, or would have been, under a key; `undefined` when nothing was done. */
  find(key: string): Promise<ProviderObject | undefined>
  /** How that stands by now. */
  standing(key: string): Promise<ProviderObject | undefined>
}

export interface ProviderCall {
  readonly key: string
  readonly body: Readonly<Record<string, unknown>>
  /** Aborts when the time of the call is over, or somebody else has taken the request over. */
  readonly signal: AbortSignal
}

/** A refusal is an answer too: the provider knows the request, and did nothing. */
export type ProviderAnswer =
  | { readonly kind: 'done'; readonly object: ProviderObject }
  | { readonly kind: 'declined'; readonly message: string }

export interface ProviderObject {
  readonly id: string
  readonly status: string
  /** What else it says. */
  readonly [member: string]: unknown
}

/** Anything but an answer. `meaning` is what is known of the effect. */
export class ProviderFailed extends Error {
  readonly meaning: CallFailure

  constructor(meaning: CallFailure, message: string, cause?: unknown) {
    super(message, { cause })
    this.meaning = meaning
  }
}

/** What Hapax asks about an error of a call. */
export function meaningOf(error: unknown): CallFailure {
  return error instanceof ProviderFailed ? error.meaning : 'doubt'
}

/** How long a provider may take to say what became of a key. */
const lookupWithinMs = 3_000

export function providerAt(url: string, name: string): Provider {
  const fail = (meaning: CallFailure, what: string, cause?: unknown) =>
    new ProviderFailed(meaning, `${name}: ${what}`, cause)

  return {
    async ask(path, { key, body, signal }) {
      const headers = { 'content-type': 'application/json', 'idempotency-key': key }
      const init = { method: 'POST', headers, body: JSON.stringify(body), signal, redirect: 'error' } as const
      const { status, json } = await exchange(`${url}/${name}${path}`, init, fail)
      if (status === 402) return { kind: 'declined', message: messageIn(json) }
      // It understood us and did nothing.
      if (status >= 400 && status < 500) throw fail('answered', `refused with ${status} (${messageIn(json)})`)
      if (status >= 300) throw fail('doubt', `answered ${status}`)
      return { kind: 'done', object: objectIn(json, fail) }
    },

    find: async (key) => (await looked(key))?.answer,
    standing: async (key) => (await looked(key))?.object,
  }

  async function looked(key: string) {
    const signal = AbortSignal.timeout(lookupWithinMs)
    const { status, json } = await exchange(`${url}/${name}/calls?${new URLSearchParams({ key })}`, { signal }, fail)
    const { found, answer, object } = (json ?? {}) as { found?: unknown; answer?: unknown; object?: unknown }
    if (status !== 200 || typeof found !== 'boolean') throw fail('doubt', `answered ${status} to a question`)
    return found ? { answer: objectIn(answer, fail), object: objectIn(object, fail) } : undefined
  }
}

type Fail = (meaning: CallFailure, what: string, cause?: unknown) => ProviderFailed

async function exchange(url: string, init: RequestInit, fail: Fail): Promise<{ status: number; json: unknown }> {
  try {
    const response = await fetch(url, init)
    return { status: response.status, json: await response.json() }
  } catch (error) {
    // Nobody listened there, so nobody has heard us. After any other error somebody may have.
    const wasRefused = (error as { cause?: { code?: unknown } }).cause?.code === 'ECONNREFUSED'
    throw fail(wasRefused ? 'not_sent' : 'doubt', wasRefused ? 'is not there' : 'gave no answer', error)
  }
}

/** Somebody else wrote it: what we rely on is looked at. */
function objectIn(json: unknown, fail: Fail): ProviderObject {
  const { id, status } = (json ?? {}) as { id?: unknown; status?: unknown }
  if (typeof id === 'string' && typeof status === 'string') return { ...(json as object), id, status }
  throw fail('doubt', 'answered something that has no id and no status')
}

function messageIn(json: unknown): string {
  const { message } = (json as { error?: { message?: unknown } } | undefined)?.error ?? {}
  return typeof message === 'string' ? message : 'it does not say why'
}

/** For a call to which a refusal is an answer: nothing was done. */
export function refused(message: string): ProviderFailed {
  return new ProviderFailed('answered', message)
}
