import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, test } from 'vitest'
import { type SandboxProcess, startSandbox } from './sandbox-process.js'
import { startSupervised } from './supervised-sandbox.js'

let sandbox: SandboxProcess
let html = ''
beforeAll(async () => {
  sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '3' } })
  html = await (await fetch(sandbox.url)).text()
})

const systems = ['payments', 'marketplace', 'endings', 'rides', 'bank', 'notifications', 'webhooks', 'providers']

describe('every line of the page, pasted into a shell, shows what the page says that it shows', () => {
  test.each(systems)('%s', { timeout: 60_000 }, async (id) => {
    const steps = stepsOf(html, id)
    expect(steps.length).toBeGreaterThan(1)
    const shown = await pasted(steps.map(({ run }) => run))
    for (const [index, { run, shows }] of steps.entries())
      for (const what of shows) expect(shown[index], `${run}\nshows ${what}`).toContain(what)
  })

  test('and there is none besides', () => {
    const listed = systems.flatMap((id) => stepsOf(html, id))
    expect(html.match(/class="run"/g)).toHaveLength(listed.length)
    expect(listed.every(({ run, shows }) => run.includes('curl ') && shows.length > 0)).toBe(true)
  })
})

test('started without providers, the page has the lines that work, and says why there are no others', async () => {
  const alone = await startSandbox()
  const page = await (await fetch(alone.url)).text()
  const steps = stepsOf(page, 'payments')
  expect(page.match(/class="run"/g)).toHaveLength(steps.length)
  expect(page).toContain('started without its providers')
  const shown = await pasted(steps.map(({ run }) => run))
  for (const [index, { run, shows }] of steps.entries())
    for (const what of shows) expect(shown[index], `${run}\nshows ${what}`).toContain(what)
})

test('it says that the companies are simulated, and who may ask', () => {
  expect(html).toContain('Airtm, Trustless Work and Finastra are simulated, with no affiliation')
  for (const token of ['ohk_test_acme', 'ohk_test_globex']) expect(html).toContain(token)
})

test('its lines have the address that the reader has used, and nothing that a host cannot be', async () => {
  const { port } = new URL(sandbox.url)
  const seenAs = async (host: string) => {
    const shown = await pasted([`curl -s http://127.0.0.1:${port}/ -H 'Host: ${host}'`])
    return shown[0] ?? ''
  }
  expect(await seenAs('sandbox.example:8080')).toContain('curl -i http://sandbox.example:8080/payments')
  for (const host of ['$(reboot)', 'a;reboot', '`reboot`', '<b>reboot'])
    expect([(await seenAs(host)).includes('reboot'), await seenAs(host)]).toEqual([
      false,
      expect.stringContaining('curl -i http://127.0.0.1:3000/payments'),
    ])
})

test('each look has keys of its own, and is not kept', async () => {
  const again = await fetch(sandbox.url)
  expect(again.headers.get('cache-control')).toBe('no-store')
  expect(again.headers.get('content-security-policy')).toMatch(/default-src 'none'/)
  const keyIn = (page: string) => /Idempotency-Key: (pay-\w+)/.exec(page)?.[1]
  expect(keyIn(await again.text())).not.toBe(keyIn(html))
})

interface Shown {
  readonly run: string
  readonly shows: readonly string[]
}

/** What a reader of the section would copy, and what is written below it. */
function stepsOf(page: string, id: string): Shown[] {
  const section = new RegExp(`<section id="${id}">.*?</section>`, 's').exec(page)?.[0] ?? ''
  return [...section.matchAll(/<code class="run"[^>]*>(.*?)<\/code>.*?<p class="shows">(.*?)<\/p>/gs)].map(
    ([, run = '', shows = '']) => ({
      run: copied(run),
      shows: [...shows.matchAll(/<code>(.*?)<\/code>/g)].map(([, what = '']) => copied(what)),
    }),
  )
}

/** The text that a browser makes of it. */
function copied(markup: string): string {
  const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }
  return markup.replaceAll(/<[^>]*>/g, '').replaceAll(/&[^;]+;/g, (entity) => entities[entity] ?? entity)
}

/** Runs them in one shell, one after the other, and gives what each has shown. */
async function pasted(lines: readonly string[]): Promise<string[]> {
  const shell = spawn('sh', { stdio: ['pipe', 'pipe', 'ignore'] })
  shell.stdin.end(lines.map((line) => `${line}\necho\necho '--- shown'\n`).join(''))
  return (await text(shell.stdout)).split('--- shown\n')
}
