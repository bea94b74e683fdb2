import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { acme, ask } from './payment-client.js'
import { apiOf, startSupervised, untilRestarted } from './supervised-sandbox.js'

const text = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const readme = text('examples/sandbox/README.md')
const front = text('README.md')

test('the first five minutes go as the README of the repository says', async () => {
  const sandbox = await startSupervised()
  const [start, ride = '', kill = '', ledger = '', demo, ...others] = front.match(/(?<=```sh\n).*?(?=\n```)/gs) ?? []
  expect([start, demo, others]).toEqual(['npm start', 'npm run demo', []])
  const inShell = async (line: string) => {
    const here = line.replaceAll('http://127.0.0.1:3000', sandbox.url)
    return (await promisify(execFile)('sh', ['-c', here])).stdout
  }

  const first = await inShell(ride)
  expect(first).toMatch(/^HTTP\/1.1 201 .*"status":"paid"/s)
  expect(first).not.toContain('idempotent-replayed')
  const { pid } = await apiOf(sandbox)
  const again = await inShell(ride)
  await inShell(kill)
  await untilRestarted(sandbox, pid)
  const third = await inShell(ride)
  for (const retried of [again, third])
    expect([bodyOf(retried), retried]).toEqual([bodyOf(first), expect.stringContaining('idempotent-replayed: true')])
  const { entries } = JSON.parse(await inShell(ledger))
  expect(entries).toMatchObject([{ operation: 'charge', amount: 1999 }])
})

test('each script that the READMEs name exists', () => {
  const { scripts } = JSON.parse(text('package.json'))
  const named = [...`${front}${readme}`.matchAll(/`npm (?:run )?(start|test|(?<=run )[\w:]+)/g)].map(([, name]) => name)
  expect(named).toContain('demo')
  expect(named.filter((name) => scripts[String(name)] === undefined)).toEqual([])
})

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

function bodyOf(shown: string): string | undefined {
  return shown.split('\r\n\r\n').at(-1)
}

function headersOf(curl: string): Record<string, string> {
  return Object.fromEntries(
    [...curl.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value]),
  )
}

function pathOf(curl: string): string {
  return /127\.0\.0\.1:3000([^\s']+)/.exec(curl)?.[1] ?? ''
}
