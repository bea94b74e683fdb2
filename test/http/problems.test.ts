import { type Contract, contractOf, type Engine, engine, errorsPage, type Profile, profiles } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { guard } from 'hapax/node'
import { afterEach, describe, expect, test } from 'vitest'
import { listening } from '../support/http-serving.js'
import { rejection } from '../support/waiting.js'

type Name = keyof typeof profiles
const names = Object.keys(profiles) as Name[]
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** An API that publishes its contract where its profile says, on a real port. */
async function api(profile: Profile, publishedAt = '/idempotency') {
  const hapax: Engine<never> = engine({ store: memoryStore() })
  const orders = guard(hapax, { ...routeOptions, profile, ...currentState(profile) }, () => {
    throw new Error('This is never reached.')
  })
  const pages: Record<string, () => readonly [type: string, text: string]> = {
    [`${publishedAt}/errors`]: () => ['text/html; charset=utf-8', errorsPage(profile)],
    [`${publishedAt}/policy`]: () => ['application/json', JSON.stringify(contractOf(hapax))],
  }
  const served = await listening((request, response) => {
    const page = pages[request.url ?? '']
    if (page === undefined) return void orders(request, response)
    const [type, text] = page()
    response.writeHead(200, { 'Content-Type': type }).end(text)
  })
  closing.push(served.close)
  const url = `http://127.0.0.1:${served.port}/v1/orders?page=2`
  return { url, refused: () => fetch(url, { method: 'POST', body: '{}' }) }
}

const routeOptions = { name: 'orders.create', scope: () => 'acme' }

function currentState({ replay }: Profile) {
  return replay.kind === 'current_state' ? { currentState: () => undefined } : {}
}

/** Where the links of a problem lead, by their media type. */
function describedBy(response: Response): Record<string, string> {
  const links = response.headers.get('link') ?? ''
  const found = [...links.matchAll(/<([^>]*)>; rel="describedby"; type="([^"]*)"/g)]
  return Object.fromEntries(found.map(([, target = '', type = '']) => [type, new URL(target, response.url).href]))
}

describe.each(names)('a problem in the %s profile', (name) => {
  test('links to the section of its code on the page of errors, and to the policy of its route', async () => {
    const { refused } = await api(profiles[name])
    const links = describedBy(await refused())
    const { hash } = new URL(links['text/html'] ?? '')
    expect(hash).toBe('#idempotency_key_missing')
    const page = await fetch(links['text/html'] ?? '')
    expect(await page.text()).toContain(`<section id="${hash.slice(1)}"`)
    const policy = (await (await fetch(links['application/json'] ?? '')).json()) as Contract
    expect(policy.routes.map((route) => [route.name, route.profile])).toEqual([['orders.create', name]])
  })
})

describe.each(['ietf', 'finastra', 'brandur'] as const)('the type of a problem in the %s profile', (name) => {
  test('resolves, from wherever it is met, to the section of its code', async () => {
    const { refused, url } = await api(profiles[name])
    const { type, code } = (await (await refused()).json()) as { type: string; code: string }
    const place = new URL(type, url)
    expect(place.hash).toBe(`#${code}`)
    const page = await fetch(place)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain(`<section id="${code}"`)
  })
})

describe('where an API publishes its contract', () => {
  test('is said by its profile, as an address or a path, with or without a slash at its end', async () => {
    const { refused } = await api({ ...profiles.ietf, docs: 'https://developers.example.com/keys/' })
    const response = await refused()
    const { type } = (await response.json()) as { type: string }
    expect(type).toBe('https://developers.example.com/keys/errors#idempotency_key_missing')
    expect(describedBy(response)['application/json']).toBe('https://developers.example.com/keys/policy')
    const elsewhere = await api({ ...profiles.ietf, docs: '/v1/about-keys' }, '/v1/about-keys')
    const page = await fetch(describedBy(await elsewhere.refused())['text/html'] ?? '')
    expect(page.status).toBe(200)
  })

  test.each(['idempotency', 'ftp://example.com', '/a>; rel="next', '/a\r\nSet-Cookie: a=b', '/a?b', '/a#b', ''])(
    'is refused at start when it is %j',
    async (docs) => {
      const profile = { ...profiles.ietf, docs }
      expect(await rejection(api(profile))).toMatchObject({ code: 'policy_invalid' })
    },
  )
})
