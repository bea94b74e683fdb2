import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClientError, isClientError } from 'hapax/client'
import { fileStorage } from 'hapax/client/node'
import { durableQueue, type QueueOptions, type QueueStorage } from 'hapax/client/queue'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { memoryStorage } from './support/memory-storage.js'
import { problem, reply, reset, type Step, scriptedFetch } from './support/scripted-fetch.js'
import { attemptTimeout, skippingClock } from './support/skipping-clock.js'

const url = 'https://api.example.com/payments'
const post = { method: 'POST', body: '{"cents":1200}', headers: { 'content-type': 'application/json' } }

function queueOn(storage: QueueStorage, steps: readonly Step[], options: Partial<QueueOptions> = {}) {
  const { fetch, sent } = scriptedFetch(...steps)
  const clock = skippingClock()
  const queue = durableQueue({ storage, fetch, clock, attemptTimeout, attempts: 2, ...options })
  return { queue, sent, clock, storage }
}

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'hapax-queue-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'sent',
    (error: unknown) => (isClientError(error) ? error.code : error),
  )

describe.each([
  ['in memory', memoryStorage],
  ['in files', () => fileStorage(join(directory(), 'not', 'there', 'yet'))],
])('a queue %s', (_, open) => {
  let storage: QueueStorage
  beforeEach(() => {
    storage = open()
  })

  test('has stored an operation before its first byte is sent, and forgets it with its answer', async () => {
    const seen: unknown[] = []
    const step = async () => {
      seen.push(...(await storage.list()).map(({ method, body }) => [method, Buffer.from(body ?? []).toString()]))
      return reply(201)
    }
    const { queue } = queueOn(storage, [step])
    expect((await queue.send(url, post)).status).toBe(201)
    expect(seen).toEqual([['POST', post.body]])
    expect(await queue.list()).toEqual([])
  })

  test('keeps an operation whose key comes with another request, and refuses that one', async () => {
    const { queue, sent } = queueOn(storage, [reset(), reset()])
    await codeOf(queue.send(url, post, { key: 'order-17' }))
    const other = queueOn(storage, [reply(201)])
    expect(await codeOf(other.queue.send(url, { ...post, body: '{"cents":99900}' }, { key: 'order-17' }))).toBe(
      'key_reused',
    )
    expect([sent.length, other.sent.length]).toEqual([2, 0])
    const stored = await queue.list()
    expect(stored.map(({ body, failed }) => [Buffer.from(body ?? []).toString(), failed])).toEqual([
      [post.body, undefined],
    ])
  })

  test('goes on with an operation whose key comes again, and does not make it young', async () => {
    const first = queueOn(storage, [reset(), reset()])
    await codeOf(first.queue.send(url, post, { key: 'order-17' }))
    const [stored] = await storage.list()
    const late = queueOn(storage, [reply(201)], { maxAge: '1h' })
    await storage.put({ ...stored, createdAt: late.clock.now() - 3_600_001 } as NonNullable<typeof stored>)
    expect(await codeOf(late.queue.send(url, post, { key: 'order-17' }))).toBe('key_expired')
    expect(late.sent).toHaveLength(0)
    await storage.put({ ...stored, createdAt: late.clock.now() - 3_599_999 } as NonNullable<typeof stored>)
    expect((await late.queue.send(url, post, { key: 'order-17' })).status).toBe(201)
  })

  test('stores nothing that was given up before it began', async () => {
    const { queue, sent } = queueOn(storage, [reply(201)])
    await expect(queue.send(url, { ...post, signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    })
    expect([await queue.list(), sent]).toEqual([[], []])
  })

  test('sends nothing that could not be stored', async () => {
    const failing = { ...storage, put: () => Promise.reject(new Error('the disk is full')) }
    const { queue, sent } = queueOn(failing, [reply(201)])
    await expect(queue.send(url, post)).rejects.toThrow('the disk is full')
    expect(sent).toHaveLength(0)
  })

  test('sends what is open again, in another process, with the same key, headers and bytes', async () => {
    const first = queueOn(storage, [reset()])
    expect(await codeOf(first.queue.send(url, post, { note: 'order 17' }))).toBe('no_answer')
    const later = queueOn(storage, [reply(201, {}, { id: 'p1' })], { headers: () => ({ authorization: 'fresh' }) })
    const [resumed] = await later.queue.resume()
    if (resumed?.kind !== 'answered') return expect.fail(String(resumed?.kind))
    expect([resumed.operation.note, await resumed.response.json()]).toEqual(['order 17', { id: 'p1' }])
    expect(later.sent[0]).toMatchObject({ url, method: 'POST', key: first.sent[0]?.key, body: post.body })
    expect(later.sent[0]?.headers.get('content-type')).toBe('application/json')
    expect(later.sent[0]?.headers.get('authorization')).toBe('fresh')
    expect(await later.queue.resume()).toEqual([])
  })

  test('forgets an operation only when its answer was taken note of', async () => {
    const notes: string[] = []
    const failing = queueOn(storage, [reply(201)], { onAnswer: () => Promise.reject(new Error('no database')) })
    await expect(failing.queue.send(url, post)).rejects.toThrow('no database')
    const { queue } = queueOn(storage, [reply(201, {}, { id: 'p1' })], {
      onAnswer: async (response) => void notes.push(await response.text()),
    })
    await queue.resume()
    expect([notes, await queue.list()]).toEqual([['{"id":"p1"}'], []])
  })

  test('keeps what the server refuses for good, for a person, and does not send it again', async () => {
    const mismatch = problem(422, 'idempotency_key_reused_with_different_payload', {}, false)
    const { queue, sent } = queueOn(storage, [mismatch])
    expect(await codeOf(queue.send(url, post))).toBe('key_reused')
    expect(await queue.resume()).toEqual([])
    const [failed] = await queue.list()
    expect([failed?.failed, sent.length]).toEqual(['key_reused', 1])
    await queue.discard(failed?.key ?? '')
    expect(await queue.list()).toEqual([])
  })

  test('does not send what is older than a server remembers: it might run again', async () => {
    const { queue, sent, clock } = queueOn(storage, [reset()], { maxAge: '20h' })
    await codeOf(queue.send(url, post))
    clock.pass(20 * 3_600_000 + 1)
    const before = sent.length
    const [resumed] = await queue.resume()
    expect(resumed).toMatchObject({ kind: 'failed', error: { code: 'key_expired' } })
    expect(sent).toHaveLength(before)
    expect(await queue.list()).toMatchObject([{ failed: 'key_expired' }])
  })

  test('holds no more than it is told, and nothing that is too large', async () => {
    const { queue, sent } = queueOn(storage, [reset()], { maxOperations: 2 })
    await codeOf(queue.send(url, post))
    await codeOf(queue.send(url, post))
    const before = sent.length
    expect(await codeOf(queue.send(url, post))).toBe('queue_full')
    const roomy = queueOn(storage, [reply(201)])
    expect(await codeOf(roomy.queue.send(url, { ...post, body: new Uint8Array(1024 * 1024 + 1) }))).toBe('queue_full')
    expect([sent.length, roomy.sent.length]).toEqual([before, 0])
  })

  test.each([Number.NaN, 0])('is not opened with a bound that is none: %d', (maxOperations) => {
    const message = `maxOperations is ${maxOperations}; give 1 or more.`
    expect(() => queueOn(storage, [], { maxOperations })).toThrow(message)
  })

  test('stores no header that it does not know, and says where to put it', async () => {
    const { queue, sent } = queueOn(storage, [reply(201)])
    const secret = { ...post, headers: { ...post.headers, authorization: 'Bearer secret' } }
    const error = await queue.send(url, secret).catch((error: unknown) => error)
    expect(isClientError(error, 'options_invalid') && error.message).toMatch(/"authorization".*`headers`/)
    expect([sent.length, await storage.count()]).toEqual([0, 0])
    const tenant = { ...post, headers: { ...post.headers, 'X-Tenant': 'acme' } }
    const told = queueOn(storage, [reply(201)], { keepHeaders: ['X-Tenant'] })
    expect((await told.queue.send(url, tenant)).status).toBe(201)
    expect(told.sent[0]?.headers.get('x-tenant')).toBe('acme')
  })
})

test('an operation that is under way is not sent a second time by a pass', async () => {
  let open = () => {}
  const slow = () => new Promise<Response>((resolve) => (open = () => resolve(reply(201))))
  const { queue, sent } = queueOn(memoryStorage(), [slow])
  const sending = queue.send(url, post)
  await vi.waitFor(() => expect(sent).toHaveLength(1))
  expect(await queue.resume()).toEqual([])
  open()
  expect((await sending).status).toBe(201)
  expect(sent).toHaveLength(1)
})

test('two passes at once are one', async () => {
  const storage = memoryStorage()
  await codeOf(queueOn(storage, [reset()]).queue.send(url, post))
  const { queue, sent } = queueOn(storage, [reply(201)])
  const [one, other] = await Promise.all([queue.resume(), queue.resume()])
  expect([one.length, other.length, sent.length]).toEqual([1, 1, 1])
})

test('a key that looks like personal data is stored nowhere', async () => {
  const { queue, storage } = queueOn(memoryStorage(), [reply(201)])
  expect(await codeOf(queue.send(url, post, { key: 'ana@example.com' }))).toBe('key_refused')
  expect(await storage.count()).toBe(0)
})

test('what changes nothing is sent without being stored', async () => {
  const storage = memoryStorage()
  const { queue, sent } = queueOn(storage, [reply(200)])
  expect((await queue.send(url)).status).toBe(200)
  expect([sent.length, storage.kept.size]).toEqual([1, 0])
})

test('an abort of the caller leaves the operation open', async () => {
  const storage = memoryStorage()
  const { queue, sent } = queueOn(storage, [() => new Promise(() => {})])
  const controller = new AbortController()
  const sending = queue.send(url, { ...post, signal: controller.signal })
  await vi.waitFor(() => expect(sent).toHaveLength(1))
  controller.abort('enough')
  await expect(sending).rejects.toBe('enough')
  expect(storage.kept.size).toBe(1)
})

test('what fails while an answer is taken note of says nothing about the operation, whatever its name', async () => {
  const onAnswer = () => Promise.reject(new ClientError('key_reused'))
  const { queue } = queueOn(memoryStorage(), [reply(201)], { onAnswer })
  await codeOf(queue.send(url, post))
  expect((await queue.list()).map(({ failed }) => failed)).toEqual([undefined])
})

test('a storage that breaks hides no refusal', async () => {
  const storage = memoryStorage()
  const { put } = storage
  storage.put = (operation) => (operation.failed ? Promise.reject(new Error('the disk is full')) : put(operation))
  const { queue } = queueOn(storage, [problem(422, 'idempotency_key_reused', {}, false)])
  expect(await codeOf(queue.send(url, post))).toBe('key_reused')
})

test('nothing is sent after the age at which a server forgets, however long a call may take', async () => {
  const running = problem(409, 'idempotency_key_in_progress', { 'retry-after': '600' })
  const { queue, clock } = queueOn(memoryStorage(), [running], { attempts: 1_000, maxAge: '1h', deadline: '24h' })
  expect(await codeOf(queue.send(url, post))).toBe('no_answer')
  expect(clock.elapsed()).toBeLessThan(3_600_000)
})

test('whoever goes on with an error does so by the queue: its answer is taken note of, and it is not sent too old', async () => {
  const notes: string[] = []
  const onAnswer = (_: Response, { key }: { key: string }) => void notes.push(key)
  const { queue, sent, clock } = queueOn(memoryStorage(), [reset(), reset(), reply(201)], { onAnswer })
  const failure = () =>
    queue.send(url, post).then(
      () => undefined,
      (error: unknown) => (isClientError(error) ? error : undefined),
    )
  const error = await failure()
  expect([error?.code, error?.attempts]).toEqual(['no_answer', 2])
  expect((await error?.resume?.())?.status).toBe(201)
  expect([notes, await queue.list()]).toEqual([[error?.key], []])
  sent.length = 0
  const old = await failure()
  clock.pass(20 * 3_600_000 + 1)
  sent.length = 2
  expect(await codeOf(old?.resume?.() ?? Promise.resolve())).toBe('key_expired')
  expect(sent).toHaveLength(2)
})

test('an operation whose headers() failed stays open, and is sent by the next pass', async () => {
  let token: string | undefined
  const headers = () => {
    if (token === undefined) throw new Error('no token')
    return { authorization: token }
  }
  const { queue, sent } = queueOn(memoryStorage(), [reply(201)], { headers })
  expect(await codeOf(queue.send(url, post))).toBe('headers_failed')
  token = 'Bearer'
  expect((await queue.resume()).map(({ kind }) => kind)).toEqual(['answered'])
  expect(sent).toHaveLength(1)
})

describe('a directory of operations', () => {
  test('can be read by its owner alone', async () => {
    const path = join(directory(), 'outgoing')
    await codeOf(queueOn(fileStorage(path), [reset()]).queue.send(url, post))
    const [name = ''] = readdirSync(path)
    expect([statSync(path).mode & 0o777, statSync(join(path, name)).mode & 0o777]).toEqual([0o700, 0o600])
    expect(name).not.toContain(JSON.parse(readFileSync(join(path, name), 'utf8')).key)
  })

  test('puts aside what cannot be read, and goes on with the rest', async () => {
    const path = directory()
    const { queue } = queueOn(fileStorage(path), [reset()])
    await codeOf(queue.send(url, post))
    await codeOf(queue.send(url, post))
    const [name = ''] = readdirSync(path)
    truncateSync(join(path, name), 20)
    expect(await queue.list()).toHaveLength(1)
    expect(readdirSync(path)).toContain(`${name}.broken`)
  })

  test('forgets what a crash left half written, once nobody can be writing it any more', async () => {
    const path = directory()
    const [old, fresh] = [join(path, 'old.unfinished'), join(path, 'fresh.unfinished')]
    for (const file of [old, fresh]) writeFileSync(file, '{')
    utimesSync(old, 0, 0)
    expect(await fileStorage(path).list()).toEqual([])
    expect(readdirSync(path)).toEqual(['fresh.unfinished'])
  })

  test('may be shared: two queues lose nothing of each other', async () => {
    const path = directory()
    const queues = [0, 1].map(() => queueOn(fileStorage(path), [reset()]).queue)
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => queues[index % 2]).map((queue) =>
        codeOf(queue?.send(url, post) ?? Promise.resolve()),
      ),
    )
    expect(await fileStorage(path).list()).toHaveLength(20)
  })
})
