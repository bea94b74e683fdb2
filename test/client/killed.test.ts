import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { engine } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { guard } from 'hapax/node'
import { expect, onTestFinished, test } from 'vitest'
import { listening } from './support/servers.js'

/** A process that pays is killed between its key and its answer. The next one goes on, and one payment is made. */

const program = fileURLToPath(new URL('./support/sender.mjs', import.meta.url))

type Does = 'pays' | 'stops before the first byte' | 'stops before it takes note' | 'resumes'

async function shop() {
  const directory = mkdtempSync(join(tmpdir(), 'hapax-killed-'))
  const hapax = engine({ store: memoryStore(), log: () => {} })
  const payments: string[] = []
  const gate = { begun: () => {}, refused: (_status: number) => {}, until: Promise.resolve() }
  const listener = guard(hapax, { name: 'payments.create', scope: () => 'acme' }, async (_, { body }) => {
    payments.push(Buffer.from(body).toString())
    gate.begun()
    await gate.until
    return { status: 201, headers: [], body: Buffer.from(`payment ${payments.length}`) }
  })
  const url = await listening((request, response) => {
    response.once('finish', () => gate.refused(response.statusCode))
    void listener(request, response)
  })
  onTestFinished(async () => {
    await hapax.close()
    rmSync(directory, { recursive: true })
  })

  /** Begins a process, and gives its words one by one. */
  function start(does: Does) {
    const child = spawn(process.execPath, [program, url, directory, does], { stdio: ['ignore', 'pipe', 'inherit'] })
    const words = createInterface(child.stdout)[Symbol.asyncIterator]()
    const ended = once(child, 'exit')
    onTestFinished(() => void child.kill('SIGKILL'))
    return {
      word: async () => (await words.next()).value as string,
      async kill() {
        child.kill('SIGKILL')
        expect(await ended).toEqual([null, 'SIGKILL'])
      },
      ended,
    }
  }

  return { start, payments, gate, stored: () => readdirSync(directory) }
}

test('killed after the key was stored and before the first byte: the next process sends it, once', async () => {
  const { start, payments, stored } = await shop()
  const first = start('stops before the first byte')
  expect(await first.word()).toBe('stored')
  await first.kill()
  expect([payments.length, stored().length]).toEqual([0, 1])
  const second = start('resumes')
  expect(await second.word()).toBe('order 17: 201 null payment 1')
  expect(await second.word()).toBe('resumed answered')
  expect([payments, stored()]).toEqual([['{"cents":1200}'], []])
})

test('killed while the server works: the next process waits for the same answer', async () => {
  const { start, payments, gate, stored } = await shop()
  let finish = () => {}
  gate.until = new Promise((resolve) => {
    finish = resolve
  })
  const statuses: number[] = []
  gate.refused = (status) => {
    statuses.push(status)
    finish()
  }
  const begun = new Promise<void>((resolve) => {
    gate.begun = resolve
  })
  const first = start('pays')
  await begun
  await first.kill()
  const second = start('resumes')
  expect(await second.word()).toBe('order 17: 201 true payment 1')
  await second.ended
  expect([payments.length, stored(), statuses]).toEqual([1, [], [409, 201]])
})

test('killed after the answer came and before anybody took note: the next process gets the same answer', async () => {
  const { start, payments, stored } = await shop()
  const first = start('stops before it takes note')
  expect(await first.word()).toBe('answered')
  await first.kill()
  expect([payments.length, stored().length]).toEqual([1, 1])
  const second = start('resumes')
  expect(await second.word()).toBe('order 17: 201 true payment 1')
  await second.ended
  expect([payments.length, stored()]).toEqual([1, []])
})

test('two processes that resume at once make one payment', async () => {
  const { start, payments, stored } = await shop()
  const first = start('stops before the first byte')
  await first.word()
  await first.kill()
  const both = [start('resumes'), start('resumes')]
  await Promise.all(both.map(({ ended }) => ended))
  expect([payments.length, stored()]).toEqual([1, []])
})
