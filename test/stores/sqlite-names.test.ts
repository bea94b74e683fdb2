import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { engine } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'

/** The database is on a thread of its own: what cannot be sent there cannot be asked for. */
function opened() {
  const path = join(tmpdir(), `hapax-names-${crypto.randomUUID()}.db`)
  const hapax = engine({ store: sqliteStore({ path }), quotas: { activeKeys: 100 }, log: () => {} })
  const failed: string[] = []
  hapax.on('store_failed', ({ step }) => failed.push(step))
  onTestFinished(async () => {
    await hapax.close()
    for (const suffix of ['', '-wal', '-shm']) await rm(path + suffix, { force: true })
  })
  return { hapax, failed }
}

test('a retry that meets a doubt looks for what was said about it, and the store does not fail', async () => {
  const { hapax, failed } = opened()
  const policy = hapax.policy({ name: 'charges.create' })
  const charge = () =>
    hapax.run({ scope: 'acme', key: 'k', policy }, (work) =>
      work.call('charged', { run: () => Promise.reject(new Error('the answer was lost')) }),
    )
  for (let attempt = 0; attempt < 2; attempt++)
    await expect(charge()).rejects.toMatchObject({ code: 'outcome_unknown' })
  await hapax.close()
  expect(failed).toEqual([])
})

test('one transaction is let in where there is a quota', async () => {
  const { hapax, failed } = opened()
  const policy = hapax.policy({ name: 'seats.take', mode: 'transaction' })
  const { value } = await hapax.run({ scope: 'acme', key: 'k', policy }, (work) =>
    work.commit(async () => ({ seat: 1 })),
  )
  expect([value, failed]).toEqual([{ seat: 1 }, []])
})
