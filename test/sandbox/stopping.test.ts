import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { coffee, pay, rawPayment } from './payment-client.js'
import type { SandboxProcess } from './sandbox-process.js'
import { onEachDatabase, untilRunning } from './test-database.js'

onEachDatabase((fresh) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test.concurrent(`${signal} lets a running payment finish, takes no other, and ends with 0`, async () => {
      const database = await fresh()
      const sandbox = await database.start({ SANDBOX_DELAY_MS: '600' })
      const running = pay(sandbox, { key: 'k' })
      await untilRunning(database, 'k')
      const exited = sandbox.stop(signal)
      await stopping(sandbox)
      await expect(pay(sandbox)).rejects.toThrow()
      expect((await running).status).toBe(201)
      expect(await exited).toBe(0)
      expect(await database.paymentsOf()).toHaveLength(1)
    })
  }

  test.concurrent('connections that ask nothing do not hold it up', async () => {
    const sandbox = await (await fresh()).start()
    const { hostname, port } = new URL(sandbox.url)
    const silent = connect({ host: hostname, port: Number(port) })
    await once(silent, 'connect')
    await pay(sandbox)
    const startedAt = performance.now()
    expect(await sandbox.stop('SIGTERM')).toBe(0)
    expect(performance.now() - startedAt).toBeLessThan(3_000)
  })

  test.concurrent('whoever still asks on an open connection is told to come back, and that one closes', async () => {
    const database = await fresh()
    const sandbox = await database.start({ SANDBOX_DELAY_MS: '2000' })
    const { hostname, port } = new URL(sandbox.url)
    const open = connect({ host: hostname, port: Number(port) })
    const answers = text(open)
    open.write(rawPayment(coffee, ['Idempotency-Key: k'], 'keep-alive'))
    await untilRunning(database, 'k')
    const exited = sandbox.stop('SIGTERM')
    await stopping(sandbox)
    open.write(rawPayment(coffee, ['Idempotency-Key: late'], 'keep-alive'))
    const [, first, second] = (await answers).split('HTTP/1.1 ')
    expect(first).toMatch(/^201 /)
    expect(second).toMatch(/^503 .*"code":"engine_closed"/s)
    expect(second).toMatch(/^connection: close\r$/im)
    expect(await exited).toBe(0)
    expect(await database.recordsOf('late')).toEqual([])
  })

  test.concurrent('the Ctrl-C that npm passes on a second time is the same Ctrl-C', async () => {
    const database = await fresh()
    const sandbox = await database.start({ SANDBOX_DELAY_MS: '600' })
    const running = pay(sandbox, { key: 'k' })
    await untilRunning(database, 'k')
    sandbox.child.kill('SIGINT')
    await stopping(sandbox)
    expect(await sandbox.stop('SIGINT')).toBe(0)
    expect((await running).status).toBe(201)
  })

  test.concurrent('a second signal ends it at once, and what it interrupted is no payment', async () => {
    const database = await fresh()
    const sandbox = await database.start({ SANDBOX_DELAY_MS: '60000' })
    const running = pay(sandbox, { key: 'k' }).catch(() => 'cut off')
    await untilRunning(database, 'k')
    sandbox.child.kill('SIGTERM')
    await stopping(sandbox)
    const again = setInterval(() => sandbox.child.kill('SIGTERM'), 50)
    expect(await sandbox.stop('SIGTERM')).toBe(1)
    clearInterval(again)
    expect(await running).toBe('cut off')
    expect(await database.paymentsOf()).toEqual([])
  })
})

function stopping(sandbox: SandboxProcess) {
  return vi.waitFor(() => expect(sandbox.printed.stderr).toContain('stopping'), { timeout: 5_000 })
}
