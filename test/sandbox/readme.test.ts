import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { acme, ask } from './payment-client.js'
import { startSupervised } from './supervised-sandbox.js'

const readme = readFileSync(new URL('../../examples/sandbox/README.md', import.meta.url), 'utf8')

test('the lines of its README do what it says', async () => {
  const sandbox = await startSupervised()
  const [create = '', find = '', ...pages] = readme.match(/(?<=```sh\n)curl .*?(?=\n```)/gs) ?? []
  expect(create).toContain('http://127.0.0.1:3000/payments ')
  const headers = headersOf(create)
  const [, body = ''] = /-d '([^']+)'/.exec(create) ?? []

  const send = (text: string) => ask(sandbox, '/payments', { method: 'POST', headers, body: text })
  const created = await send(body)
  const again = await send(body)
  const changed = await send(body.replace('450', '451'))
  expect([created.status, again.status, changed.status]).toEqual([201, 201, 422])
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([created.text, 'true'])

  const id = String(created.json.id)
  expect((await ask(sandbox, pathOf(find).replace('pay_…', id), { headers: acme })).text).toBe(created.text)

  expect(pages.length).toBeGreaterThan(2)
  for (const page of pages) {
    const [, sent] = /-d '([^']+)'/.exec(page) ?? []
    const init = sent === undefined ? {} : { method: 'POST', body: sent }
    const { status } = await fetch(sandbox.url + pathOf(page), { headers: headersOf(page), ...init })
    expect([page, status]).toEqual([page, sent === undefined ? 200 : 201])
  }
})

function headersOf(curl: string): Record<string, string> {
  return Object.fromEntries(
    [...curl.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value]),
  )
}

function pathOf(curl: string): string {
  return /127\.0\.0\.1:3000([^\s']+)/.exec(curl)?.[1] ?? ''
}
