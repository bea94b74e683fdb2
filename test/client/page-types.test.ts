import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

const page = `
import { idempotentFetch, isClientError } from 'hapax/client'
import { durableQueue, indexedDbStorage } from 'hapax/client/queue'

const send: typeof fetch = idempotentFetch({ fetch: window.fetch.bind(window) })
const queue = durableQueue({ storage: indexedDbStorage('shop'), onAnswer: async (response) => console.log(await response.text()) })

export async function pay(form: HTMLFormElement): Promise<Response | undefined> {
  await queue.resume()
  try {
    return await send('/payments', { method: 'POST', body: new FormData(form) })
  } catch (error) {
    return isClientError(error, 'outcome_unknown') ? error.resume?.() : undefined
  }
}
`

test('the types of the client are those of a page, where Node has none', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hapax-page-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(root, join(directory, 'node_modules', 'hapax'))
  const compilerOptions = {
    ...{ target: 'ES2022', module: 'ESNext', moduleResolution: 'bundler', lib: ['ES2022', 'DOM'], types: [] },
    ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: false },
  }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['page.ts'] }))
  writeFileSync(join(directory, 'page.ts'), page)
  const compiler = join(root, 'node_modules', '.bin', 'tsc')
  const run = promisify(execFile)(compiler, ['-p', directory], { timeout: 60_000 })
  const { stdout } = await run.catch((error: { stdout: string }) => error)
  expect(stdout).toBe('')
}, 70_000)
