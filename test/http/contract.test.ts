import {
  contractOf,
  type Engine,
  type ErrorCode,
  engine,
  HapaxError,
  keyFormats,
  profiles,
  type RouteContract,
} from 'hapax'
import { guard } from 'hapax/fetch'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'
import { kept, never } from '../../src/http/kept-headers.js'

type Options = Partial<Parameters<typeof guard>[1]>

function given(...routes: Options[]): Engine<never> {
  const hapax: Engine<never> = engine({ store: memoryStore(), log: () => {} })
  for (const options of routes)
    guard(hapax, { name: 'payments.create', scope: () => 'acme', ...options }, () => new Response())
  return hapax
}

function published(options: Options): RouteContract {
  const [route] = contractOf(given(options)).routes
  if (route === undefined) throw new Error('The route is not in the contract.')
  return route
}

const day = 86_400_000

describe('the contract of an engine', () => {
  test('says of a route with all defaults what guards it', () => {
    expect(published({})).toMatchObject({
      name: 'payments.create',
      profile: 'ietf',
      methods: ['POST', 'PATCH'],
      key: { header: 'Idempotency-Key', required: true, syntax: 'lenient', min_length: 1, max_length: 255 },
      compared: { by: 'whole' },
      retention: { ms: day, text: '1d' },
      after_expiry: { key: 'run', recognised_for: { ms: 30 * day, text: '30d' } },
      duplicates: { mode: 'reject' },
      failures: { meaning: 'retry' },
      crashes: { meaning: 'unknown' },
      store_down: { meaning: 'refuse' },
      replay: { kind: 'as_stored', marked_by: { 'Idempotent-Replayed': 'true' } },
      limits: { answer_bytes: 1024 * 1024, body_bytes: 1024 * 1024, run: { ms: 900_000, text: '15m' } },
      errors: { place: '/idempotency/errors', media_type: 'application/problem+json' },
    })
  })

  test('says what the options of a route say', () => {
    const route = published({
      key: 'optional',
      methods: ['PUT', 'DELETE'],
      keyRules: { syntax: 'string', minLength: 20, maxLength: 64, minVariety: 8, format: keyFormats.ulid },
      retention: 'forever',
      tombstone: '90d',
      concurrency: 'wait',
      waitFor: '3s',
      onExpired: 'refuse',
      onCrash: 'retry',
      onError: () => 'store',
      maxAnswerBytes: 100,
      bodyLimit: 200,
      maxRun: '2m',
      keepHeaders: ['X-Request-Cost'],
      dangerouslyFailOpen: true,
      statusAt: '/idempotency/key',
    })
    expect(route).toMatchObject({
      methods: ['PUT', 'DELETE'],
      key: {
        required: false,
        syntax: 'string',
        min_length: 20,
        max_length: 64,
        min_variety: 8,
        format: { pattern: keyFormats.ulid.source, flags: 'i' },
      },
      retention: { ms: null, text: 'forever' },
      after_expiry: { key: 'refuse', recognised_for: { text: '90d' } },
      duplicates: { mode: 'wait', wait: { ms: 3_000, text: '3s' } },
      failures: { meaning: 'decided' },
      crashes: { meaning: 'retry' },
      store_down: { meaning: 'run' },
      limits: { answer_bytes: 100, body_bytes: 200, run: { text: '2m' } },
      key_status: '/idempotency/key',
    })
    expect(route.replay.carries).toContain('X-Request-Cost')
  })

  test('says what a profile says where its route says nothing', () => {
    expect(published({ profile: profiles.boundary })).toMatchObject({
      key: { min_length: 16 },
      retention: { text: '2d' },
      failures: { meaning: 'unknown' },
      errors: { media_type: 'application/json', example: { code: 'idempotency_key_in_progress' } },
    })
    const finastra = published({ profile: profiles.finastra, currentState: () => undefined })
    expect(finastra).toMatchObject({ key: { max_length: 40 }, replay: { kind: 'current_state', status: 201 } })
    expect(published({ profile: profiles.boundary, onError: 'retry' }).failures.meaning).toBe('retry')
  })

  const nothing = (): string => ''

  test.each([
    [{ kind: 'raw' }, { by: 'raw' }],
    [
      { kind: 'whole', headers: ['API-Version'] },
      { by: 'whole', headers: ['Api-Version'] },
    ],
    [
      { kind: 'fields', select: ['amount', ['destination', 'ref']] },
      { by: 'fields', fields: ['amount', 'destination.ref'] },
    ],
    [
      { kind: 'fields', exclude: ['sentAt'] },
      { by: 'fields', fields: ['sentAt'], text: expect.stringMatching(/but these/) },
    ],
    [
      { kind: 'header', name: 'content-digest' },
      { by: 'header', header: 'Content-Digest' },
    ],
    [{ kind: 'own', id: 'v1', of: nothing }, { by: 'own' }],
    [
      { kind: 'own', id: 'v1', of: nothing, fields: ['amount'], without: ['query'] },
      { by: 'own', fields: ['amount'], without: ['query'], text: expect.stringMatching(/^These fields/) },
    ],
    [
      { kind: 'own', id: 'v1', of: nothing, fields: [] },
      { by: 'own', fields: [], text: expect.stringMatching(/^Nothing/) },
    ],
  ] as const)('says how requests are compared: %j', (strategy, said) => {
    expect(published({ fingerprint: { strategy } }).compared).toMatchObject(said)
  })

  test('says how a request tells when it was first made', () => {
    expect(published({}).freshness).toBeUndefined()
    expect(published({ freshness: { by: 'key' } }).freshness).toMatchObject({ by: 'key' })
    const byHeader = published({ freshness: { by: 'header', name: 'repeatability-first-sent' } })
    expect(byHeader.freshness).toMatchObject({ by: 'header', header: 'Repeatability-First-Sent' })
  })

  test('names exactly the headers that a replay carries, and those that it never does', () => {
    const { carries, never_carries } = published({}).replay
    expect(kept.size).toBeGreaterThan(5)
    expect(never.size).toBeGreaterThan(5)
    expect(new Set(carries.map((name) => name.toLowerCase()))).toEqual(kept)
    expect(new Set(never_carries.map((name) => name.toLowerCase()))).toEqual(never)
  })

  test('has the statuses of the profile, and only codes that the route can end in', () => {
    const { statuses } = published({})
    expect(statuses).toMatchObject({
      idempotency_key_missing: 400,
      idempotency_key_in_progress: 409,
      idempotency_key_reused_with_different_payload: 422,
      idempotency_store_unavailable: 503,
    })
    const without = ['idempotency_key_expired', 'waiting_room_full', 'body_not_canonical', 'request_not_fresh'] as const
    for (const code of [...without, 'replay_forbidden', 'scope_missing', 'idempotency_key_unknown'] as const)
      expect(statuses).not.toHaveProperty(code)
    const strict = published({
      profile: profiles.stripe,
      key: 'optional',
      onExpired: 'refuse',
      concurrency: 'wait',
      fingerprint: { strict: true, strategy: { kind: 'header', name: 'digest' } },
      freshness: { by: 'header', name: 'first-sent' },
      authorizeReplay: () => true,
    }).statuses
    expect(strict).toMatchObject({
      idempotency_key_reused_with_different_payload: 400,
      idempotency_key_expired: 410,
      waiting_room_full: 429,
      body_not_canonical: 400,
      fingerprint_header_missing: 400,
      request_not_fresh: 412,
      first_sent_invalid: 400,
      replay_forbidden: 403,
    })
    expect(strict).not.toHaveProperty('idempotency_key_missing')
  })

  const storeCodes: readonly ErrorCode[] = [
    ...(['store_unreachable', 'store_failed', 'store_version_unsupported', 'store_rights_missing'] as const),
    ...(['store_read_only', 'store_not_durable', 'store_busy', 'store_schema_outdated', 'store_schema_newer'] as const),
  ]
  test.each(storeCodes)(
    'has a status for what requests end in when a store says %s, and for nothing else',
    async (code) => {
      const fails = () => Promise.reject(new HapaxError(code))
      const met = new Set<string>()
      for (const step of ['open', 'reserve', 'transaction'] as const) {
        const hapax = engine({ store: { ...memoryStore(), transaction: fails, [step]: fails }, log: () => {} })
        const options = { name: 'payments.create', scope: () => 'acme' }
        const pay = guard(hapax, options, (_request, work) => work.commit(async () => new Response()))
        const headers = { 'idempotency-key': 'k' }
        // What goes on to the application is not ours to publish.
        const refused = await pay(new Request('http://localhost/', { method: 'POST', headers })).catch(() => undefined)
        if (refused === undefined) continue
        const ended = ((await refused.json()) as { code: ErrorCode }).code
        expect(contractOf(hapax).routes[0]?.statuses[ended]).toBe(refused.status)
        met.add(ended)
      }
      expect(Object.hasOwn(published({}).statuses, code)).toBe(met.has(code))
    },
  )

  test('keeps two guards of one name that differ, and one of those that do not', () => {
    const hapax = given({}, { methods: ['PUT'] }, {}, { name: 'refunds.create' })
    const routes = contractOf(hapax).routes.map(({ name, methods }) => `${name} ${methods}`)
    expect(routes).toEqual(['payments.create POST,PATCH', 'payments.create PUT', 'refunds.create POST,PATCH'])
  })

  test('is of one engine only, and empty while nothing is guarded', () => {
    given({})
    expect(contractOf(given()).routes).toEqual([])
  })

  test('says what only the owner knows, as he says it', () => {
    const about = { scopedBy: 'tenant and user', documentation: 'https://developers.example.com/keys' }
    expect(contractOf(given(), about)).toEqual({
      scoped_by: 'tenant and user',
      documentation: 'https://developers.example.com/keys',
      routes: [],
    })
    expect(contractOf(given())).toEqual({ scoped_by: 'the authenticated caller', routes: [] })
  })

  test('is JSON: what is served is what was made', () => {
    const contract = contractOf(given({ keyRules: { format: keyFormats.uuid } }, { retention: 'forever' }))
    expect(JSON.parse(JSON.stringify(contract))).toEqual(contract)
  })

  test('has a sentence for every word that it uses', () => {
    const { key, compared, after_expiry, duplicates, answers, failures, crashes, store_down, replay } = published({})
    for (const part of [key, compared, after_expiry, duplicates, answers, failures, crashes, store_down, replay])
      expect(part.text).toMatch(/^[A-Z].{20,}\.$/)
  })
})
