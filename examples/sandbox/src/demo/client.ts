import { setTimeout as delay } from 'node:timers/promises'
import type { Stage } from './stage.js'

/** What a client of the sandbox sends and gets, without any help: the demo is about what the server promises. */
export interface Client {
  send(request: Sending): Promise<Answer>
  /** Sends it again until it is answered with the status. */
  retry(request: Sending, status: number): Promise<Answer>
  get(path: string, token?: string): Promise<Answer>
  /** Asks the providers. */
  tell(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<void>
  ledger(query: string): Promise<readonly Entry[]>
  /** Looks until there is something. */
  until<T>(what: string, look: () => Promise<T | undefined>): Promise<T>
}

export interface Sending {
  readonly path: string
  readonly key: string
  readonly body: object
  readonly token?: string
  /** Where the client does not wait for its answer, in milliseconds. */
  readonly givesUpAfterMs?: number
}

export interface Answer {
  readonly status: number
  readonly isReplay: boolean
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

export interface Entry {
  readonly operation: string
  readonly amount: unknown
  readonly object: string
  readonly reference?: string
}

/** Nothing here waits for longer. */
const withinMs = 30_000
const lookEveryMs = 100

export function clientOf({ url, providersUrl }: Stage): Client {
  const answer = async (response: Response): Promise<Answer> => {
    const text = await response.text()
    const isReplay = response.headers.get('idempotent-replayed') === 'true'
    return { status: response.status, isReplay, text, json: JSON.parse(text) }
  }
  const send = async ({ path, key, body, token = 'ohk_test_acme', givesUpAfterMs = withinMs }: Sending) =>
    answer(
      await fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(givesUpAfterMs),
      }),
    )
  const get = async (path: string, token = 'ohk_test_acme') =>
    answer(
      await fetch(url + path, {
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(withinMs),
      }),
    )
  const until = async <T>(what: string, look: () => Promise<T | undefined>): Promise<T> => {
    const giveUpAt = performance.now() + withinMs
    while (performance.now() < giveUpAt) {
      // Nobody answers while the API is started again.
      const found = await look().catch(() => undefined)
      if (found !== undefined) return found
      await delay(lookEveryMs)
    }
    throw new Error(`${what}: not within ${withinMs / 1000} seconds`)
  }
  return {
    send,
    get,
    until,
    retry: (request, status) =>
      until(`a retry of ${request.path} answered with ${status}`, async () => {
        const retried = await send(request)
        return retried.status === status ? retried : undefined
      }),
    async tell(method, path, body) {
      const content = body === undefined ? {} : { body: JSON.stringify(body) }
      const headers = { 'content-type': 'application/json' }
      const { status } = await fetch(providersUrl + path, { method, headers, ...content })
      if (status >= 300) throw new Error(`The providers answered ${status} to ${method} ${path}.`)
    },
    async ledger(query) {
      const { json } = await get(`/_providers/ledger?${query}`)
      return json.entries as readonly Entry[]
    },
  }
}
