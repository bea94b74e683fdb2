import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort, noRedis, redisBinary, startRedis } from '../support/redis-server.js'

/** The doctor on a Redis, as a person runs it. */

const main = join(fileURLToPath(new URL('../..', import.meta.url)), 'dist/cli/main.js')

async function doctor(...args: readonly string[]) {
  const ran = promisify(execFile)(process.execPath, [main, 'doctor', ...args])
  return ran.then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  )
}

describe.skipIf(redisBinary === undefined)(
  `hapax doctor redis://…${redisBinary === undefined ? ` (skipped: ${noRedis})` : ''}`,
  () => {
    test('warns of what the grade means, and finds nothing broken: exit 0', async () => {
      const server = await startRedis()
      onTestFinished(() => server.end())
      const { code, stdout } = await doctor(server.url, '--prefix', 'newsletter')
      expect(code).toBe(0)
      expect(stdout).toMatch(/durability +warning +This store is of the grade best-effort/)
      expect(stdout).toMatch(/Fit to serve: 0 broken, 1 warning, 4 ok\.\n$/)
    })

    test('finds a server that evicts, and says what to set: exit 1', async () => {
      const server = await startRedis(['--maxmemory-policy', 'allkeys-lfu'])
      onTestFinished(() => server.end())
      const { code, stdout } = await doctor(server.url, '--json')
      expect(code).toBe(1)
      expect(JSON.parse(stdout)).toMatchObject({ database: server.url, broken: 1 })
      expect(stdout).toContain('Set maxmemory-policy noeviction')
    })

    test('shows no password, also where no server answers: exit 1', async () => {
      const { code, stdout, stderr } = await doctor(`redis://ann:geheim@127.0.0.1:${await freePort()}`)
      expect(code).toBe(1)
      expect(stdout).toContain('store_unreachable')
      expect(stdout + stderr).not.toContain('geheim')
    })

    test('refuses what is no such URL, and options of other databases: exit 2', async () => {
      for (const args of [['redis:nothing'], ['redis://h:1', '--schema', 'x'], ['a.db', '--prefix', 'x']])
        expect([args, (await doctor(...args)).code]).toEqual([args, 2])
    })
  },
)
