import { request as ask } from 'node:http'
import { engine, profiles } from 'hapax'
import { guard, keyStatus } from 'hapax/fetch'
import { memoryStore } from 'hapax/memory'
import { guard as nodeGuard } from 'hapax/node'
import { sqliteStore } from 'hapax/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freshPath } from '../stores/sqlite-fixtures/given.js'
import { listening } from '../support/http-serving.js'
import { bounded } from '../support/waiting.js'

const options = { name: 'payments.create', scope: () => 'acme' }
const inMemory = () => engine({ store: memoryStore(), log: () => {} })
const asResponse = (value: unknown) => value as Response
const failed = (words: RegExp) =>
  expect.objectContaining({ code: 'handler_failed', message: expect.stringMatching(words) })

function post(init: RequestInit = {}, key = 'k'): Request {
  const headers = { 'Idempotency-Key': key, 'Content-Type': 'application/json' }
  return new Request('http://localhost/payments', { method: 'POST', headers, body: '{"cents":5}', ...init })
}

describe('a handler that gives no Response', () => {
  test.each([
    ['nothing', undefined],
    ['null', null],
    ['text', 'paid'],
    ['a reply of another adapter', { status: 200, headers: [], body: new Uint8Array() }],
  ])('fails as one that throws when it returns %s, and the next attempt runs', async (_, value) => {
    let runs = 0
    const pay = guard(inMemory(), options, () => (++runs === 1 ? asResponse(value) : Response.json({ runs })))
    await expect(pay(post())).rejects.toThrow(failed(/return one on every path, and inside work\.commit/))
    expect(await (await pay(post())).json()).toEqual({ runs: 2 })
  })

  test('inside work.commit commits nothing, and hears why', async () => {
    const hapax = engine({ store: sqliteStore({ path: freshPath() }), log: () => {} })
    onTestFinished(() => hapax.close())
    let runs = 0
    const pay = guard(hapax, options, async (_request, work) => {
      runs++
      await work.commit(async () => (runs === 1 ? undefined : Response.json({ runs })))
      return Response.json({ runs })
    })
    await expect(pay(post())).rejects.toThrow(failed(/returned no Response/))
    expect(await (await pay(post())).json()).toEqual({ runs: 2 })
  })

  test('fails as well when the body of its Response was read before', async () => {
    const pay = guard(inMemory(), options, async () => {
      const response = Response.json({ id: 1 })
      await response.text()
      return response
    })
    await expect(pay(post())).rejects.toThrow(failed(/whose body was read already/))
  })
})

describe('a body that was read before the guard', () => {
  test.each([
    ['read', (request: Request) => request.text()],
    ['locked', async (request: Request) => void request.body?.getReader()],
  ])('is told to the developer when it was %s', async (_, before) => {
    const pay = guard(inMemory(), options, () => new Response())
    const request = post()
    await before(request)
    const refused = expect.objectContaining({
      code: 'policy_invalid',
      message: expect.stringMatching(/Route "payments\.create".*request\.clone\(\)/),
    })
    await expect(bounded(pay(request), 'an answer')).rejects.toThrow(refused)
  })

  test('does not matter under a method that is not guarded', async () => {
    const pay = guard(inMemory(), options, ({ method }) => new Response(method))
    const request = post({ method: 'PUT' })
    await request.text()
    expect(await (await pay(request)).text()).toBe('PUT')
  })
})

describe('what a framework gives', () => {
  /** As the request of Next.js: of a class of its own, with more than a Request has. */
  class OwnRequest extends Request {
    readonly #tenant: string
    constructor(tenant: string) {
      super(post())
      this.#tenant = tenant
    }
    get tenant() {
      return this.#tenant
    }
  }
  interface Context {
    readonly params: Promise<{ readonly id: string }>
  }
  const context: Context = { params: Promise.resolve({ id: 'order-17' }) }

  test('reaches the handler: the request itself, with its body, and everything beside it', async () => {
    const request = new OwnRequest('acme')
    const seen: unknown[] = []
    const pay = guard(
      inMemory(),
      { name: 'payments.create', scope: (request) => request.headers.get('content-type') ?? '' },
      async (given: OwnRequest, work, { params }: Context, last: number) => {
        seen.push(given === request, given.tenant, await given.json(), work.attempt, (await params).id, last)
        return new Response()
      },
    )
    expect((await pay(request, context, 3)).status).toBe(200)
    expect(seen).toEqual([true, 'acme', { cents: 5 }, 1, 'order-17', 3])
  })

  test('reaches it under a method that is not guarded too', async () => {
    const pay = guard(inMemory(), options, async (given: Request, _work, { params }: Context) =>
      Response.json([await given.text(), (await params).id]),
    )
    const response = await pay(post({ method: 'PUT', body: 'five' }), context)
    expect(await response.json()).toEqual(['five', 'order-17'])
  })

  test('reaches the scope', async () => {
    const hapax = inMemory()
    interface Event {
      readonly locals: { readonly tenant: string }
    }
    let runs = 0
    const pay = guard(
      hapax,
      { name: 'payments.create', scope: (_request: Request, { locals }: Event) => locals.tenant },
      async (_request: Request, _work, { locals }: Event) => Response.json([locals.tenant, ++runs]),
    )
    const answers: unknown[] = []
    for (const tenant of ['acme', 'globex', 'acme'])
      answers.push(await (await pay(post(), { locals: { tenant } })).json())
    expect(answers).toEqual([
      ['acme', 1],
      ['globex', 2],
      ['acme', 1],
    ])
  })
})

test('a body over the limit is refused, and its source hears that nobody wants more', async () => {
  let isCancelled = false
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(10)),
    cancel() {
      isCancelled = true
    },
  })
  const pay = guard(inMemory(), { ...options, bodyLimit: 25 }, () => new Response())
  const init = { body, duplex: 'half' } as RequestInit
  const refused = await bounded(pay(post(init)), 'a refusal')
  expect([refused.status, await refused.json()]).toMatchObject([413, { code: 'body_too_large' }])
  expect(isCancelled).toBe(true)
})

describe.each(Object.values(profiles).map(({ name }) => name as keyof typeof profiles))(
  'two keys in the manner of %s',
  (name) => {
    const route = { ...options, profile: profiles[name], ...(name === 'finastra' && { currentState: () => undefined }) }
    const padded = 'k'.repeat(20)

    test.each([
      ['two quoted lines', [`"${padded}a"`, `"${padded}b"`]],
      ['two bare lines', [`${padded}a`, `${padded}b`]],
      ['one line that is a list', [`${padded}a, ${padded}b`]],
      ['one line that is a list without blanks', [`${padded}a,${padded}b`]],
      ['one line that is a quoted list', [`"${padded}a", "${padded}b"`]],
    ])('are refused alike by fetch and by node: %s', async (_, lines) => {
      const hapax = inMemory()
      const headers = lines.map((line): [string, string] => ['Idempotency-Key', line])
      const byFetch = guard(hapax, route, () => new Response())
      const byNode = nodeGuard(hapax, route, () => ({ status: 200, headers: [], body: new Uint8Array() }))
      const { port, close } = await listening((request, response) => void byNode(request, response))
      onTestFinished(close)
      const asked = { method: 'POST', headers }
      expect((await byFetch(new Request('http://localhost/', asked))).status).toBe(400)
      // Apart as they are, which a client of the Fetch API cannot send.
      const { status } = await sent(port, lines)
      expect(status).toBe(400)
    })
  },
)

/** Sends header lines apart. */
function sent(port: number, lines: readonly string[]): Promise<{ readonly status: number | undefined }> {
  return new Promise((resolve, reject) => {
    const asking = ask({ port, host: '127.0.0.1', method: 'POST', headers: { 'Idempotency-Key': [...lines] } })
    asking.on('error', reject).on('response', (response) => resolve({ status: response.resume().statusCode }))
    asking.end()
  })
}

describe('a status route', () => {
  const status = keyStatus(inMemory(), { scope: () => 'acme' })
  const asked = (method: string) =>
    status(new Request('http://localhost/', { method, headers: { 'idempotency-key': 'k' } }))

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'has no answer to %s, and says what it answers',
    async (method) => {
      const refused = await asked(method)
      expect([refused.status, refused.headers.get('allow'), await refused.text()]).toEqual([405, 'GET, HEAD', ''])
    },
  )

  test('answers HEAD as GET, without a body', async () => {
    const [get, head] = [await asked('GET'), await asked('HEAD')]
    expect([head.status, [...head.headers]]).toEqual([get.status, [...get.headers]])
    expect([head.body, (await get.text()).length > 0]).toEqual([null, true])
  })
})
