import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { engine, workOnce } from 'hapax'
import { adminApi, everything } from 'hapax/admin'
import { sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { servingAdmin } from '../support/admin-serving.js'
import { bounded, until } from '../support/waiting.js'

/** Commands at the admin URL of a running application. */

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

test('hapax doctor asks an application what it finds, and says so when nobody answers: exit 0, 1', async () => {
  const { url, path, close } = await application()
  const fit = await hapax('doctor', url)
  expect(fit).toMatchObject({ code: 0, stderr: '' })
  expect(fit.stdout).toContain(`${url}\n\ncheck    verdict  what was found`)
  expect(fit.stdout).toMatch(
    /\nschema +ok +version \d+\njournal +ok +[\s\S]*Fit to serve: 0 broken, 0 warnings, 3 ok\.\n$/,
  )
  renameSync(path, `${path}.gone`)
  const gone = await hapax('doctor', url, '--json')
  expect(gone.code).toBe(1)
  expect(JSON.parse(gone.stdout)).toMatchObject({
    database: url,
    broken: 1,
    findings: [{ check: 'file', level: 'broken' }],
  })
  renameSync(`${path}.gone`, path)
  expect(await hapax('doctor', url, '--schema', 'x')).toMatchObject({ code: 2, stdout: '' })
  await close()
  const silent = await hapax('doctor', url)
  expect(silent).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/server +broken +The admin API does not answer/),
  })
})

test('hapax stats says whose workers it shows, when one failed, and that a database knows of none', async () => {
  const { url, path, made } = await application()
  expect((await hapax('stats', url)).stdout).toContain('No worker has made a pass in the process that was asked.')
  await workOnce({ hapax: made })
  made.events.emit('worker_failed', () => ({ worker: 'reaper', errorCode: 'store_busy' }))
  const { stdout } = await hapax('stats', url)
  expect(stdout).toMatch(/Workers of the process that was asked:\nworker +last pass +last failed +error now +did\n/)
  expect(stdout).toMatch(/\nreaper +\d+s ago +\d+s ago +store_busy +-\n/)
  expect(stdout).toMatch(/\nsweeper +\d+s ago +- +- +-\n/)
  expect((await hapax('stats', path)).stdout).toContain('Workers are not seen from here')
})

test('hapax keys tail goes on when the application is started again, and says what it missed', async () => {
  const { made, url, port, close, serve } = await application()
  const policy = made.policy({ name: 'payments.create' })
  const pay = (key: string) => made.run({ scope: 'acme', key, policy }, async () => 'paid')
  const tail = started('keys', 'tail', url)
  await until(
    () => pay(crypto.randomUUID()).then(() => tail.printed.stdout),
    (said) => said.includes('completed'),
    'an event',
  )
  await close()
  await tail.says('stderr', /^hapax: The admin API has ended the stream, or is gone/)
  await serve(port)
  await tail.says('stderr', /The admin API is back\./)
  await tail.says('stdout', /missed +since=\w+\.\d+/)
  const before = tail.printed.stdout.length
  await until(
    () => pay(crypto.randomUUID()).then(() => tail.printed.stdout.slice(before)),
    (said) => said.includes('completed'),
    'an event of the second',
  )
  tail.child.kill('SIGINT')
  expect(await tail.code()).toBe(0)
})

test('hapax keys tail of an address at which nobody answers fails at once: exit 1', async () => {
  const { url, close } = await application()
  await close()
  expect(await hapax('keys', 'tail', url)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^hapax: The admin API does not answer/),
  })
})

async function application() {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-admin-url-'))
  const path = join(folder, 'a.db')
  const made = engine({ store: sqliteStore({ path }), log: () => {} })
  await made.open()
  let close = async () => {}
  const serve = async (port?: number) => {
    const api = adminApi({ hapax: made, path: '/admin', authorize: () => ({ who: 'ann', may: everything }) })
    const served = await servingAdmin(api, port)
    close = async () => {
      api.close()
      await served.close()
    }
    return served
  }
  const { url, port } = await serve()
  onTestFinished(async () => {
    await close()
    await made.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    made,
    url,
    port,
    path,
    serve,
    async close() {
      await close()
      close = async () => {}
    },
  }
}

async function hapax(...args: readonly string[]) {
  const { printed, code } = started(...args)
  return { code: await code(), ...printed }
}

function started(...args: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const printed = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream]?.setEncoding('utf8').on('data', (piece: string) => {
      printed[stream] += piece
    })
  const ended = once(child, 'close')
  return {
    child,
    printed,
    says: (stream: 'stdout' | 'stderr', what: RegExp) =>
      until(
        async () => printed[stream],
        (all) => what.test(all),
        String(what),
      ),
    code: async () => (await bounded(ended, 'the process to end'))[0] as number | null,
  }
}
