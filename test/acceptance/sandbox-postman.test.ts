import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import type { OpenApi } from '../sandbox/documented.js'
import { fault, get } from '../sandbox/sandbox-client.js'
import { type Api, emptyDirectory } from '../sandbox/sandbox-process.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** The collection that is shipped, run by the program that Postman is made of. */

const require = createRequire(import.meta.url)
const program = require.resolve('newman/bin/newman.js')
const collection = fileURLToPath(new URL('../../examples/sandbox/postman_collection.json', import.meta.url))

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start({ providers: 'simulated', env: { SANDBOX_LEASE_SECONDS: '3' } })
  })

  test('newman runs the collection, and all of it is so [S0-32]', { timeout: 90_000 }, async () => {
    const { code, failures, assertions } = await newman(sandbox)
    expect(failures).toEqual([])
    expect([code, assertions > 100]).toEqual([0, true])
  })

  test('newman fails where something is not so: a card that is declined [S0-32]', { timeout: 90_000 }, async () => {
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'decline' })
    const { code, failures } = await newman(sandbox, 'Start', 'Payments')
    expect([code, failures]).toEqual([1, expect.arrayContaining(['Pay: it is paid'])])
  })

  test('each guarded operation of the API is in the collection [S0-32]', async () => {
    const { paths } = (await get(sandbox, '/openapi.json')).json as unknown as OpenApi
    const guarded = Object.keys(paths).filter((path) => paths[path]?.post?.['x-idempotency'] !== undefined)
    const { item: folders } = JSON.parse(readFileSync(collection, 'utf8')) as Collection
    const requests = folders.flatMap(({ item }) => item.map(({ request }) => request))
    const sent = requests.filter(({ method }) => method === 'POST').map(({ url }) => pathIn(url))
    expect(guarded.filter((path) => !sent.includes(path))).toEqual([])
  })
})

interface Collection {
  readonly item: readonly { readonly item: readonly { readonly request: { method: string; url: string } }[] }[]
}

function pathIn(url: string): string {
  return url.replace('{{baseUrl}}', '').replaceAll(/\{\{\w+\}\}/g, '{id}')
}

interface Report {
  readonly run: {
    readonly stats: { readonly assertions: { readonly total: number } }
    readonly failures: readonly {
      readonly source?: { readonly name: string }
      readonly error: { readonly test?: string }
    }[]
  }
}

/** Runs these folders, or all of them. */
async function newman({ url }: Api, ...folders: readonly string[]) {
  const report = join(await emptyDirectory(), 'report.json')
  const chosen = folders.flatMap((folder) => ['--folder', folder])
  const reporting = ['--reporters', 'json', '--reporter-json-export', report]
  const args = ['run', collection, '--env-var', `baseUrl=${url}`, ...chosen, ...reporting]
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  const { run }: Report = JSON.parse(await readFile(report, 'utf8'))
  const failures = run.failures.map(({ source, error }) => `${source?.name}: ${error.test}`)
  return { code, failures, assertions: run.stats.assertions.total }
}
