import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Engine, type Operation, workOnce } from 'hapax'
import { adminApi, everything } from 'hapax/admin'
import type { SqliteTransaction } from 'hapax/sqlite'
import { telemetry } from 'hapax/telemetry'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pinSqliteClock } from '../../dist/stores/sqlite/testing.js'
import { servingAdmin } from '../support/admin-serving.js'
import { bounded, until } from '../support/waiting.js'

/**
 * Whoever was woken copies commands from these pages: each is run as it stands there, by a shell, on an application that has
 * what they are about.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, 'docs/operating')
const pages = readdirSync(folder).filter((name) => name !== 'README.md')

/** Lines of code blocks, put together where they go on, and what stands in a sentence. */
function commandsOf(page: string): readonly string[] {
  const text = readFileSync(join(folder, page), 'utf8')
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block.replaceAll(/\\\n\s*/g, ''))
  const lines = blocks.flatMap((block) => block.split('\n')).map((line) => line.trim())
  const prose = text.replaceAll(/```sh\n[\s\S]*?```/g, '')
  const inSentences = [...prose.matchAll(/`(npx hapax [^`]*)`/g)].map(([, command = '']) => command)
  return [...lines, ...inSentences].filter((line) => line.startsWith('npx hapax '))
}

describe.each(pages)('the commands of %s', (page) => {
  let application: Application

  beforeAll(async () => {
    application = await started()
  }, 60_000)

  afterAll(() => application?.close())

  test('there are some', () => {
    expect(commandsOf(page).length).toBeGreaterThan(0)
  })

  test.each(commandsOf(page))('%s', { timeout: 60_000 }, async (command) => {
    expect(await application.run(command)).toMatchObject({ code: 0, stderr: '' })
  })
})

test('a command that there is not fails', { timeout: 60_000 }, async () => {
  const application = await started()
  expect((await application.run('npx hapax keys forget "$HAPAX"')).code).not.toBe(0)
  expect((await application.run('npx hapax dead list "$HAPAX" --sort age')).code).not.toBe(0)
  await application.close()
})

interface Application {
  run(command: string): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>
  close(): Promise<void>
}

/** What `hapax.mjs` exports. */
interface Module {
  readonly hapax: Engine<SqliteTransaction>
  readonly pay: Operation<SqliteTransaction, object, unknown>
  readonly out: { charge: boolean; receipt: boolean }
}

/** Two payments of two hours ago whose outcome is unknown, two whose effects are dead letters, a fresh one; and an admin API. */
async function started(): Promise<Application> {
  const place = mkdtempSync(join(tmpdir(), 'hapax-runbook-'))
  const path = join(place, 'app.db')
  writeFileSync(join(place, 'hapax.mjs'), moduleText(path))
  const { hapax, pay, out } = (await import(pathToFileURL(join(place, 'hapax.mjs')).href)) as Module
  const perform = (key: string) => hapax.perform({ scope: 'acme', key, operation: pay, input: {} })
  await hapax.open()
  await pinSqliteClock(path, Date.now() - 2 * 3_600_000)
  out.receipt = true
  for (const key of ['order-1', 'order-2']) await perform(key)
  await workOnce({ hapax })
  out.charge = true
  for (const key of ['order-17', 'order-18']) await perform(key).catch(() => undefined)
  // The provider has all but the last.
  const sent = (await hapax.calls?.list({ limit: 10 }))?.calls.slice(0, -1) ?? []
  writeFileSync(join(place, 'day.csv'), ['key', ...sent.map(({ key }) => key)].join('\n'))
  await pinSqliteClock(path, Date.now())
  Object.assign(out, { charge: false, receipt: false })
  await perform('order-19')
  const deadOf = async (kind: string) => (await hapax.outbox?.list({ state: 'dead', kind, limit: 10 }))?.effects ?? []
  const dead = [...(await deadOf('receipt.send')), ...(await deadOf('partner.tell'))]
  const watch = telemetry({ hapax, every: 'off' })
  const api = adminApi({
    hapax,
    path: '/admin',
    authorize: () => ({ who: 'ann', may: everything }),
    rates: watch.tenants,
  })
  const served = await servingAdmin(api)
  writeFileSync(
    join(place, 'npx'),
    `#!/bin/sh\nshift\nexec '${process.execPath}' '${root}dist/cli/main.js' "$@" $YES\n`,
    {
      mode: 0o755,
    },
  )
  const env = {
    PATH: `${place}:${process.env.PATH}`,
    ...{ HAPAX: served.url, DATABASE: path, ENGINE: './hapax.mjs', NO_COLOR: '1' },
  }
  return {
    async run(command) {
      const named = command
        .replaceAll(/471([123])/g, (_, which) => String(dead[which - 1]?.id))
        // Whichever port is free: others may run these tests at the same time.
        .replace('--metrics 9464', '--metrics 0')
      const asks = /npx hapax (dead (redrive|discard)|unknown (settle|reconcile)|purge|reap) /.test(command)
      const child = spawn('sh', ['-c', `exec ${named}`], { cwd: place, env: { ...env, YES: asks ? '--yes' : '' } })
      const { printed, ended } = output(child)
      // What goes on until it is stopped has something to show before.
      if (/^npx hapax (keys tail .*|work "\$ENGINE"( --metrics 9464)?)$/.test(command.replace(/\s*#.*$/, ''))) {
        await until(
          () => perform(`order-${randomUUID()}`).catch(() => printed.stdout),
          () => printed.stdout !== '',
          command,
        )
        child.kill('SIGINT')
      }
      return { code: await bounded(ended, command), ...printed }
    },
    async close() {
      api.close()
      await watch.stop()
      await served.close()
      await hapax.close()
      rmSync(place, { recursive: true, force: true })
    },
  }
}

/** The application: its provider can be out for charges, for receipts, or for neither. */
function moduleText(path: string): string {
  return `import { effects, engine } from '${root}dist/index.js'
import { sqliteStore } from '${root}dist/stores/sqlite/index.js'
export const out = { charge: false, receipt: false }
const answering = (what) => {
  if (out[what]) throw new Error('out')
  return { id: 'ch_1' }
}
export const hapax = engine({
  store: sqliteStore({ path: '${path}' }),
  log: () => {},
  effects: effects({
    'receipt.send': { call: () => answering('receipt'), classify: () => 'answered', honoursKeyFor: '24h' },
    'partner.tell': { call: () => answering('receipt'), classify: () => 'answered', honoursKeyFor: '24h' },
  }),
})
export const pay = hapax.operation('payments.create', { version: 1 }, async (work) => {
  const charge = await work.call('charged', { run: () => answering('charge') })
  return work.commit(({ effect }) => {
    effect('receipt.send', {})
    effect('partner.tell', {})
    return { status: 201, body: charge }
  })
})
`
}

function output(child: ChildProcess) {
  const printed = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream]?.on('data', (chunk: Buffer) => {
      printed[stream] += chunk
    })
  return { printed, ended: once(child, 'close').then(([code]) => code as number | null) }
}
