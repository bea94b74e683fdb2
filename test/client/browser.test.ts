import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { engine } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { guard } from 'hapax/node'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listening } from './support/servers.js'

/** The client as a page has it: bundled, in a real browser, with IndexedDB below its queue, across origins. */

const executablePath = [
  process.env.HAPAX_TEST_CHROMIUM ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(existsSync)

if (executablePath === undefined) {
  test.skip('the client in a browser (skipped: no Chromium, set HAPAX_TEST_CHROMIUM)', () => {})
} else {
  describe('in a browser', () => inBrowser(executablePath))
}

function inBrowser(executablePath: string): void {
  let browser: Browser
  let script = ''
  beforeAll(async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `export * from './index.js'; export * from './queue-entry.js'`,
        resolveDir: fileURLToPath(new URL('../../dist/client/', import.meta.url)),
      },
      bundle: true,
      format: 'iife',
      globalName: 'hapax',
      platform: 'browser',
      write: false,
    })
    script = outputFiles[0]?.text ?? ''
    const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run']
    browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', ...quiet],
    })
  }, 60_000)
  afterAll(() => browser?.close())

  /** An API on one origin, and the page of a shop on another. */
  async function shop() {
    const payments: string[] = []
    const plan: ('lost' | 'held')[] = []
    const hapax = engine({ store: memoryStore(), log: () => {} })
    const pay = guard(hapax, { name: 'payments.create', scope: () => 'acme' }, async (_, { body }) => {
      payments.push(Buffer.from(body).toString())
      return { status: 201, headers: [['Content-Type', 'text/plain']], body: Buffer.from(`payment ${payments.length}`) }
    })
    const api = await listening((request, response) => {
      response.setHeader('Access-Control-Allow-Origin', '*')
      if (request.method === 'OPTIONS') {
        const allowed = {
          'Access-Control-Allow-Headers': 'idempotency-key, content-type',
          'Access-Control-Allow-Methods': 'POST',
        }
        return void response.writeHead(204, allowed).end()
      }
      const fate = plan.shift()
      // The server acts, and its answer does not arrive.
      if (fate !== undefined) response.end = fate === 'lost' ? () => response.destroy() : () => response
      void pay(request, response)
    })
    const pages = await listening((request, response) => {
      if (request.url === '/client.js')
        return void response.writeHead(200, { 'content-type': 'text/javascript' }).end(script)
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><script src="/client.js"></script>')
    })
    return { payments, plan, api, pages }
  }

  test('a payment whose answer was lost is made once, and the page sees that its answer is a replay', async () => {
    const { payments, plan, api, pages } = await shop()
    const page = await browser.newPage()
    await page.goto(pages)
    plan.push('lost', 'lost')
    const seen = await evaluated(
      page,
      `async (api) => {
      const send = hapax.idempotentFetch({ backoff: { first: '1ms', max: '1ms' } })
      const form = new FormData()
      form.append('cents', '1200')
      const response = await send(new Request(api, { method: 'POST', body: form }))
      return [response.status, await response.text(), response.headers.get('idempotent-replayed'), response.url]
    }`,
      api,
    )
    expect(seen).toEqual([201, 'payment 1', 'true', `${api}/`])
    expect(payments).toHaveLength(1)
    await page.close()
  })

  test('a page that is closed between its key and its answer goes on when it is opened again', async () => {
    const { payments, plan, api, pages } = await shop()
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(pages)
    plan.push('held')
    const arrived = page.waitForRequest((request) => request.method() === 'POST')
    await evaluated(
      page,
      `(api) => {
      const queue = hapax.durableQueue({ storage: hapax.indexedDbStorage('shop') })
      void queue.send(api, { method: 'POST', body: '{"cents":1200}' }, { note: 'order 17' })
    }`,
      api,
    )
    await arrived
    await expect.poll(() => payments.length).toBe(1)
    await page.close()

    const again = await context.newPage()
    await again.goto(pages)
    const seen = await evaluated(
      again,
      `async () => {
      const notes = []
      const onAnswer = async (response, { note, body }) =>
        void notes.push(note, new TextDecoder().decode(body), await response.text(), response.headers.get('idempotent-replayed'))
      const queue = hapax.durableQueue({ storage: hapax.indexedDbStorage('shop'), onAnswer })
      const kinds = (await queue.resume()).map(({ kind }) => kind)
      return [kinds, notes, (await queue.list()).length]
    }`,
    )
    expect(seen).toEqual([['answered'], ['order 17', '{"cents":1200}', 'payment 1', 'true'], 0])
    expect(payments).toEqual(['{"cents":1200}'])
    await context.close()
  })

  test('a queue in IndexedDB counts, lists, replaces and forgets', async () => {
    const { pages } = await shop()
    const page = await browser.newPage()
    await page.goto(pages)
    const seen = await evaluated(
      page,
      `async () => {
      const storage = hapax.indexedDbStorage()
      const of = (key, createdAt) => ({ key, method: 'POST', url: '/', headers: [], credentials: 'omit', redirect: 'follow', createdAt })
      await Promise.all([storage.put(of('a', 1)), storage.put(of('b', 2)), storage.put(of('a', 3))])
      const before = [await storage.count(), (await storage.list()).map(({ key, createdAt }) => key + createdAt)]
      await storage.remove('a')
      await storage.remove('never there')
      return [...before, await hapax.indexedDbStorage().count()]
    }`,
    )
    expect(seen).toEqual([2, ['a3', 'b2'], 1])
    await page.close()
  })
}

/** Runs a function of the page, given as text: the types of a page are not known here. */
function evaluated(page: Page, text: string, argument?: string): Promise<unknown> {
  return page.evaluate(`(${text})(${JSON.stringify(argument) ?? ''})`)
}
