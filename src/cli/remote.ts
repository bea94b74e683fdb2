import type { Admin, FindQuery } from '../admin/admin.js'
import { isRefusalCode, Refused } from '../admin/refused.js'
import { systemChance } from '../kernel/chance.js'
import { sleep, systemClock, within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { type Followed, followed } from './followed.js'

/** The same at an admin API, over HTTP. */
export type Remote = Omit<Admin, 'close' | 'verify' | 'within'> & {
  verify(anchor?: { readonly sequence: number; readonly hash: string }): ReturnType<Admin['verify']>
  /** Everything that happens there, until the signal aborts, also after it was started again. */
  events(signal: AbortSignal, tell: (what: 'lost' | 'back') => void): AsyncGenerator<Followed>
}

const withinMs = 30_000
/** A write whose answer was lost is sent again under the same key: it is done once. */
const tries = 3

export function remoteAdmin(url: string, token: string | undefined): Remote {
  const base = url.replace(/\/$/, '')
  const identity = token === undefined ? {} : { authorization: `Bearer ${token}` }

  async function ask(path: string, init: RequestInit, query: object = {}): Promise<Response> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined)
    const asked = new URLSearchParams(given.map(([name, value]) => [name, String(value)] as [string, string]))
    const target = `${base}${path}${asked.size > 0 ? `?${asked}` : ''}`
    const late = () => new Error(`it did not answer within ${withinMs} ms`)
    const asking = fetch(target, { redirect: 'error', ...init, headers: { ...identity, ...init.headers } })
    return within(systemClock, withinMs, asking, late)
  }

  async function read<T>(path: string, query?: object): Promise<T> {
    return told<T>(await reached(() => ask(path, {}, query)))
  }

  async function post<T>(path: string, body: object): Promise<T> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': systemChance.id() }
    for (let attempt = 1; ; attempt++) {
      try {
        return await told<T>(await reached(() => ask(path, { method: 'POST', headers, body: JSON.stringify(body) })))
      } catch (error) {
        if (!(error instanceof HapaxError && error.retryable) || attempt === tries) throw error
        await sleep(systemClock, 500 * attempt)
      }
    }
  }

  const reasoned = ({ why }: { readonly why: string }) => ({ reason: why })
  return {
    find: (query) => read('/records', queryOf(query)),
    story: ({ scope, key }) => read('/records/story', { scope, key }),
    settle: (name, word, by) => post('/records/settle', { ...name, ...wordOf(word), ...reasoned(by) }),
    reconcile: (by, name) =>
      post(name === undefined ? '/reconcile' : '/records/reconcile', { ...name, ...reasoned(by) }),
    purge: (name, by) => post('/records/purge', { ...name, ...reasoned(by) }),
    effects: (query) => read('/effects', query),
    effectStory: (id) => read('/effects/story', { id }),
    settleEffect: (id, word, by) => post('/effects/settle', { id, ...word, ...reasoned(by) }),
    reconcileEffect: (id, by) => post('/effects/reconcile', { id, ...reasoned(by) }),
    deadLetters: (query) => read('/dead-letters', query),
    previewRedrive: (query) => post('/dead-letters/preview', query),
    redrive: (query, by) => post('/dead-letters/redrive', { ...query, ...reasoned(by) }),
    discard: (ids, by) => post('/dead-letters/discard', { ids, ...reasoned(by) }),
    stats: () => read('/stats'),
    tenants: (query) => read('/tenants', query),
    tenant: async (tenant) => {
      const [one] = (await read<{ items: Awaited<ReturnType<Admin['tenant']>>[] }>('/tenants', { tenant })).items
      if (one === undefined) throw new Refused('absent')
      return one
    },
    routes: async () => (await read<{ items: Awaited<ReturnType<Admin['routes']>> }>('/routes')).items,
    workers: async () => (await read<{ items: Awaited<ReturnType<Admin['workers']>> }>('/workers')).items,
    health: () => read('/health'),
    audit: ({ about, ...query }) => read('/audit', { ...query, ...about }),
    verify: (anchor) => read('/audit/verify', anchor),
    events(signal, tell) {
      const open = async (lastId: string | undefined) => {
        const headers = lastId === undefined ? {} : { 'last-event-id': lastId }
        const response = await reached(() => ask('/events', { signal, headers }))
        if (!response.ok || response.body === null) await told(response)
        return response.body as ReadableStream<Uint8Array>
      }
      return followed(open, signal, tell)
    },
  }
}

function queryOf({ key, tenant, since, until, plainState, ...query }: FindQuery): Readonly<Record<string, unknown>> {
  return {
    ...query,
    ...(plainState !== undefined && { plain_state: plainState }),
    ...(tenant !== undefined && { tenant: decodeURIComponent(tenant) }),
    ...(since !== undefined && { since: new Date(since).toISOString() }),
    ...(until !== undefined && { until: new Date(until).toISOString() }),
    ...(key && ('is' in key ? { key: key.is } : { key_prefix: key.startsWith })),
  }
}

function wordOf(word: Parameters<Admin['settle']>[1]): object {
  if (word.says !== 'completed') return word
  const { status, headers, body } = word.answer
  const text = new TextDecoder().decode(body)
  return { ...word, answer: { status, headers: Object.fromEntries(headers), ...(text !== '' && { body: text }) } }
}

async function reached(send: () => Promise<Response>): Promise<Response> {
  try {
    return await send()
  } catch (error) {
    const { cause = error } = error as { cause?: unknown }
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new HapaxError('store_unreachable', `The admin API does not answer. Check the URL. (${why})`, {
      cause: error,
    })
  }
}

/** What the API said, or why not, as it would have been thrown here. */
async function told<T>(response: Response): Promise<T> {
  const body: unknown = await response.json().catch(() => undefined)
  if (response.ok && body !== undefined) return body as T
  const { code, detail, title, retry_after } = (body ?? {}) as {
    code?: string
    detail?: string
    title?: string
    retry_after?: number
  }
  const said = detail ?? title ?? `It answered ${response.status}, and not as an admin API does.`
  if (isRefusalCode(code)) throw new Refused(code, said, retry_after === undefined ? undefined : retry_after * 1_000)
  if (response.status === 409 || response.status >= 500) throw new HapaxError('store_failed', said)
  throw new Refused('invalid', said)
}
