import { type Contract, defaults, type ErrorCode, keyFormats, type OpenApiFragment, profiles } from 'hapax'
import { describe, expect, test } from 'vitest'
import { gate } from '../support/waiting.js'
import { type Api, api } from './support/http-api.js'
import { adapters, type Got, json, key } from './support/http-site.js'
import { days, noon } from './support/times.js'

/** What an API publishes about its keys, read by a client over HTTP, and held against what the API then does. */

const policyOf = async ({ read }: Api) => JSON.parse((await read('/idempotency/policy')).text) as Contract
const openApiOf = async ({ read }: Api) => JSON.parse((await read('/idempotency/openapi')).text) as OpenApiFragment

describe.each(adapters)('on %s', (adapter) => {
  test('the published policy says for how long keys are kept, and at that hour their answers are gone [S0-19 R-05]', async () => {
    const given = await api(adapter, {
      routes: [
        {},
        { path: '/orders', options: { retention: '7d' } },
        { path: '/disputes', options: { retention: 'forever' } },
      ],
    })
    const { ask, reap, row, runs, setTime } = given
    const { routes } = await policyOf(given)
    expect(routes.map(({ retention }) => retention)).toEqual([
      { ms: defaults.retentionMs, text: '1d' },
      { ms: 7 * days, text: '7d' },
      { ms: null, text: 'forever' },
    ])
    expect(defaults.retentionMs).toBe(24 * 3_600_000)
    const sent = ['/payments', '/orders', '/disputes'].map((path) => ({ path, key: path.slice(1) }))
    await setTime(noon)
    for (const request of sent) expect((await ask(request)).status).toBe(201)
    for (const [index, { retention }] of routes.entries()) {
      const request = sent[index] ?? { path: '', key: '' }
      const after = retention.ms ?? 36_500 * days
      await setTime(noon + after - 1)
      await reap()
      expect(await ask(request), request.path).toMatchObject({ status: 201, replayed: true })
      await setTime(noon + after)
      await reap()
      const left = row(request.key)
      if (retention.ms === null) expect(left).toMatchObject({ status: 'completed' })
      else expect(left).toMatchObject({ status: 'expired', response_body: null, response_headers: null })
    }
    expect(runs()).toBe(3)
    await setTime(noon + 60 * days)
    expect(await ask(sent[0])).toMatchObject({ status: 201, replayed: false })
  })

  test('every POST that takes a key has the header, 400, 409 and 422 in the OpenAPI fragment, and no other has [S0-31]', async () => {
    const given = await api(adapter, {
      routes: [
        {},
        { path: '/orders', options: { name: 'orders.create', methods: ['POST'], key: 'optional' } },
        { path: '/refunds', options: { name: 'refunds.create', profile: profiles.boundary } },
        { path: '/charges', options: { name: 'charges.create', profile: profiles.stripe, methods: ['POST', 'PUT'] } },
      ],
    })
    const { components, openapi } = await openApiOf(given)
    expect(openapi).toMatch(/^3\.1/)
    const operations = Object.fromEntries(
      Object.entries(components.pathItems).map(([name, item]) => [name, Object.keys(item)]),
    )
    expect(operations).toEqual({
      'operation-0': ['post', 'patch'],
      'orders.create': ['post'],
      'refunds.create': ['post', 'patch'],
      'charges.create': ['post', 'put'],
    })
    for (const [name, { post }] of Object.entries(components.pathItems)) {
      const parameters = post?.parameters.map(({ $ref }) => components.parameters[last($ref)])
      const required = name !== 'orders.create'
      expect(parameters, name).toMatchObject([{ name: 'Idempotency-Key', in: 'header', required }])
      for (const status of ['400', '409', ...(name === 'charges.create' ? [] : ['422'])]) {
        const response = components.responses[last(post?.responses[status]?.$ref)]
        expect(response, `${name} ${status}`).toMatchObject({
          description: expect.any(String),
          content: expect.any(Object),
        })
      }
    }
  })

  test('the policy names what makes a key unique: whose keys are apart, and their format; the API holds to both [R-02]', async () => {
    const given = await api(adapter, {
      scopedBy: 'tenant and user',
      routes: [
        {
          scope: (header) => ({ tenant: header('x-tenant') ?? 'acme', principal: header('x-user') ?? 'ann' }),
          options: { keyRules: { format: keyFormats.uuid, maxLength: 36 } },
        },
      ],
    })
    const { ask, runs } = given
    const { scoped_by, routes } = await policyOf(given)
    expect(scoped_by).toBe('tenant and user')
    const published = routes[0]?.key
    expect(published).toMatchObject({ header: 'Idempotency-Key', required: true, min_length: 1, max_length: 36 })
    const format = new RegExp(published?.format?.pattern ?? '', published?.format?.flags)
    for (const text of [crypto.randomUUID(), 'order-17', '1', 'x'.repeat(37)])
      expect((await ask({ key: text })).status, text).toBe(format.test(text) ? 201 : 400)
    expect(runs()).toBe(1)
    const who = [{ 'x-user': 'ann' }, { 'x-user': 'bob' }, { 'x-tenant': 'globex' }]
    for (const headers of who) expect(await ask({ headers })).toMatchObject({ status: 201, replayed: false })
  })

  test('a specification is published for programs and for people, and says when keys expire and what that means [R-07 R-08]', async () => {
    const given = await api(adapter, {
      routes: [
        { options: { retention: '48h', onExpired: 'refuse', tombstone: '10d' } },
        { path: '/orders', options: { name: 'orders', retention: 'forever' } },
      ],
    })
    const [payments, orders] = (await policyOf(given)).routes
    expect(payments).toMatchObject({
      profile: 'ietf',
      methods: ['POST', 'PATCH'],
      compared: { by: 'whole' },
      duplicates: { mode: 'reject' },
      replay: { kind: 'as_stored', marked_by: { 'Idempotent-Replayed': 'true' } },
      retention: { ms: 2 * days, text: '2d' },
      after_expiry: { key: 'refuse', recognised_for: { ms: 10 * days, text: '10d' } },
      statuses: { idempotency_key_missing: 400, idempotency_key_expired: 410 },
    })
    expect(orders).toMatchObject({ retention: { ms: null, text: 'forever' } })
    expect(orders?.statuses).not.toHaveProperty('idempotency_key_expired')
    const { pathItems } = (await openApiOf(given)).components
    expect(pathItems['operation-0']?.post?.['x-idempotency']).toMatchObject({
      retention: payments?.retention,
      after_expiry: payments?.after_expiry,
    })
    const page = await given.read('/idempotency/errors')
    expect([page.status, page.headers['content-type']]).toEqual([200, expect.stringMatching('text/html')])
    expect(page.text).toContain('id="idempotency_key_expired"')
    const { ask, setTime } = given
    await setTime(noon)
    await ask()
    await setTime(noon + 2 * days - 1)
    expect((await ask()).replayed).toBe(true)
    await setTime(noon + 2 * days)
    expect((await ask()).status).toBe(410)
  })

  test('without a key it is 400, and the problem leads to where that is explained [R-16]', async () => {
    const given = await api(adapter)
    const refused = await given.ask({ key: undefined })
    await explains(given, refused, 400, 'idempotency_key_missing')
    expect(given.runs()).toBe(0)
  })

  test('with the key of another request it is 422, and the problem leads to where that is explained [R-17]', async () => {
    const given = await api(adapter)
    await given.ask()
    const refused = await given.ask({ body: '{"amount":900}' })
    await explains(given, refused, 422, 'idempotency_key_reused_with_different_payload')
    expect(given.runs()).toBe(1)
  })

  test('whoever is refused finds the policy in force by its link, from there the status route, and both are true [G-25]', async () => {
    const given = await api(adapter, {
      routes: [{ options: { retention: '48h', concurrency: 'accept', statusAt: '/idempotency/key' } }],
    })
    const refused = await given.ask({ key: 'k'.repeat(256) })
    const place = linksOf(refused).find(({ type }) => type === 'application/json')
    expect(place).toMatchObject({ rel: 'describedby' })
    const policy = JSON.parse((await given.read(place?.target ?? '')).text) as Contract
    const [route] = policy.routes
    expect(route).toMatchObject({ name: 'operation-0', retention: { ms: 2 * days }, duplicates: { mode: 'accept' } })
    expect(route?.statuses.idempotency_key_malformed).toBe(refused.status)
    expect((await openApiOf(given)).components.pathItems['operation-0']?.post?.['x-idempotency']).toMatchObject({
      name: route?.name,
      retention: route?.retention,
      key_status: route?.key_status,
    })
    await given.ask()
    const status = await given.status({ path: route?.key_status ?? '' })
    expect(JSON.parse(status.text)).toMatchObject({ state: 'completed', status: 201 })
  })

  test.each(Object.keys(profiles) as (keyof typeof profiles)[])(
    'an API in the manner of %s says so, and refuses with no other status than it has published [S3-21]',
    async (name) => {
      const [begun, go] = [gate(), gate()]
      const profile = profiles[name]
      const given = await api(adapter, {
        routes: [
          {
            options: {
              profile,
              bodyLimit: 100,
              ...(profile.replay.kind === 'current_state' && { currentState: () => undefined }),
            },
            async handler() {
              begun.open()
              await go.opened
              return json(201, {})
            },
          },
        ],
      })
      const { ask } = given
      const [route] = (await policyOf(given)).routes
      expect(route?.profile).toBe(name)
      const first = ask()
      await begun.opened
      const met: readonly (readonly [ErrorCode, Got])[] = [
        ['idempotency_key_in_progress', await ask()],
        ['idempotency_key_missing', await ask({ key: undefined })],
        ['idempotency_key_malformed', await ask({ key: 'k'.repeat(256) })],
        ['body_too_large', await ask({ key: crypto.randomUUID(), body: 'x'.repeat(101) })],
        ['idempotency_key_reused_with_different_payload', await ask({ body: '{"amount":900}' })],
      ]
      go.open()
      expect((await first).status).toBe(201)
      expect(met.map(([code, { status }]) => [code, status])).toEqual(
        met.map(([code]) => [code, route?.statuses[code]]),
      )
      // A header that another manner uses for its own marks is not sent.
      const marks = Object.keys(route?.replay.marked_by ?? {}).map((mark) => mark.toLowerCase())
      const replay = await ask()
      for (const mark of marks) expect(replay.headers).toHaveProperty(mark)
      expect(replay.headers['idempotent-replayed']).toBe(marks.includes('idempotent-replayed') ? 'true' : undefined)
    },
  )
})

/** A problem whose type, and whose link, is a place on a page that is there and tells of this very problem. */
async function explains({ read }: Api, refused: Got, status: number, code: ErrorCode): Promise<void> {
  expect([refused.status, refused.headers['content-type']]).toEqual([status, 'application/problem+json'])
  const problem = JSON.parse(refused.text) as Record<string, unknown>
  expect(problem).toMatchObject({ status, code, title: expect.any(String), detail: expect.any(String) })
  expect(refused.text).not.toContain(key)
  const link = linksOf(refused).find(({ type }) => type === 'text/html')
  expect(link).toEqual({ target: problem.type, rel: 'describedby', type: 'text/html' })
  const [place = '', section = ''] = String(problem.type).split('#')
  const page = await read(place)
  expect(page.status).toBe(200)
  const [, told = ''] = page.text.split(`id="${section}"`)
  expect(section).toBe(code)
  expect(told).toContain(String(problem.title))
}

function linksOf({ headers }: Got): { readonly target: string; readonly rel: string; readonly type: string }[] {
  const links = String(headers.link).matchAll(/<([^>]*)>; rel="([^"]*)"; type="([^"]*)"/g)
  return [...links].map(([, target = '', rel = '', type = '']) => ({ target, rel, type }))
}

function last(reference = ''): string {
  return reference.split('/').at(-1) ?? ''
}
