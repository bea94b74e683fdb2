import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
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
    const line = page.replace('http://127.0.0.1:3000', sandbox.url).replace('curl -i', 'curl -i -s --max-time 20')
    const { stdout } = await promisify(execFile)('sh', ['-c', line])
    expect([page, stdout]).toEqual([page, expect.stringMatching(/^HTTP\/1.1 20[012] /)])
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
