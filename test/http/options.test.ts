import { engine, type Profile, profiles } from 'hapax'
import { guard as fetchGuard, keyStatus as fetchStatus } from 'hapax/fetch'
import { memoryStore } from 'hapax/memory'
import { guard as nodeGuard, keyStatus as nodeStatus } from 'hapax/node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listening } from '../support/http-serving.js'

type Loose = (...given: unknown[]) => unknown
/** What a program without types can write. */
const guards = { fetch: fetchGuard as Loose, node: nodeGuard as Loose }
const statusRoutes = { fetch: fetchStatus as Loose, node: nodeStatus as Loose }
const hapax = engine({ store: memoryStore(), log: () => {} })
const handler = () => new Response()
const right = { name: 'payments.create', scope: () => 'acme' }

function refusalOf(make: () => unknown): { readonly code: unknown; readonly message: string } {
  try {
    make()
  } catch (error) {
    const { name, code, message } = error as Error & { code: unknown }
    expect(name).toBe('HapaxError')
    return { code, message }
  }
  throw new Error('It started.')
}

const wrong: [what: string, options: object, advice: RegExp][] = [
  ['a shortest key that is longer than any', { keyRules: { minLength: 300 } }, /minLength.* 300.*1 to 255/],
  ['a shortest key that is longer than the longest', { keyRules: { minLength: 41, maxLength: 40 } }, /1 to 40/],
  ['a longest key that no store has room for', { keyRules: { maxLength: 1_000 } }, /maxLength.* 1000.*1 to 255/],
  ['a length that is no whole number', { keyRules: { maxLength: '40' } }, /maxLength.*whole number/],
  [
    'more different characters than a key may have',
    { keyRules: { minVariety: 41, maxLength: 40 } },
    /minVariety.* 41.*1 to 40/,
  ],
  ['a variety that is no number', { keyRules: { minVariety: 'high' } }, /minVariety.*whole number/],
  ['a syntax that there is not', { keyRules: { syntax: 'quoted' } }, /lenient, string, raw/],
  ['a format that is text', { keyRules: { format: 'uuid' } }, /keyFormats\.uuid/],
  ['the name of a profile', { profile: 'stripe' }, /"stripe".*profiles\.stripe/],
  ['half a profile', { profile: { name: 'ours' } }, /\.\.\.profiles\.ietf/],
  ['a profile whose keys cannot be', { profile: { ...profiles.ietf, key: { minLength: 256 } } }, /minLength/],
]

describe.each(['fetch', 'node'] as const)('a guard of %s does not start', (adapter) => {
  test.each([
    ...wrong,
    ['methods that are no list', { methods: 'POST' }, /methods.*\['POST'\]/],
    ['headers that are no list', { keepHeaders: 'X-Cost' }, /keepHeaders.*\[/],
  ] as typeof wrong)('with %s', (_, options, advice) => {
    const { code, message } = refusalOf(() => guards[adapter](hapax, { ...right, ...options }, handler))
    expect(code).toBe('policy_invalid')
    expect(message).toMatch(advice)
    expect(message).toContain('Route "payments.create"')
  })

  test('without options, and says what they are', () => {
    const { code, message } = refusalOf(() => guards[adapter](hapax))
    expect(code).toBe('policy_invalid')
    expect(message).toMatch(/name: .*scope: /)
  })

  test.each([undefined, {}, 'handler'])('with %j for a handler', (given) => {
    const { code, message } = refusalOf(() => guards[adapter](hapax, right, given))
    expect(code).toBe('handler_missing')
    expect(message).toMatch(/Route "payments.create".*third argument/)
  })
})

describe.each(['fetch', 'node'] as const)('a status route of %s does not start', (adapter) => {
  test.each(wrong)('with %s', (_, options, advice) => {
    const { code, message } = refusalOf(() => statusRoutes[adapter](hapax, { scope: () => 'acme', ...options }))
    expect(code).toBe('policy_invalid')
    expect(message).toMatch(advice)
  })

  test('without options', () => {
    expect(refusalOf(() => statusRoutes[adapter](hapax)).code).toBe('scope_missing')
  })
})

test('the header of a profile may be written in any case', async () => {
  const profile: Profile = { ...profiles.ietf, header: 'X-Request-Key' }
  const reply = { status: 201, headers: [], body: new Uint8Array() }
  const pay = nodeGuard(hapax, { ...right, profile }, () => reply)
  const status = nodeStatus(hapax, { scope: () => 'acme', profile })
  const { port, close } = await listening((request, response) => {
    void (request.method === 'POST' ? pay : status)(request, response)
  })
  onTestFinished(close)
  const headers = { 'X-REQUEST-KEY': 'k' }
  expect((await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers })).status).toBe(201)
  expect(await (await fetch(`http://127.0.0.1:${port}`, { headers })).json()).toMatchObject({ state: 'completed' })
})
