import { telemetry } from 'hapax/telemetry'
import { expect, onTestFinished, test } from 'vitest'
import { bench } from '../support/bench.js'
import { gate } from '../support/waiting.js'
import { read } from './reading.js'

/** Who sends duplicates is known by tenant, without a label that has as many values as there are tenants. */

function watched() {
  const given = bench()
  const watch = telemetry({ hapax: given.hapax, every: 'off' })
  onTestFinished(() => watch.stop())
  const policy = given.policy()
  const run = (scope: string | { tenant: string; principal: string }, key: string, input: unknown = 1) =>
    given.hapax.run({ scope, key, policy, input }, async () => 'paid')
  const of = (tenant: string) => watch.tenants().tenants.find((one) => one.tenant === tenant)
  return { ...given, watch, policy, run, of }
}

test('the rates of a tenant are of all its scopes, and of nobody else', async () => {
  const { run, of, watch } = watched()
  await run('acme', 'k-1')
  await run('acme', 'k-1')
  await run({ tenant: 'acme', principal: 'usr_7' }, 'k-2')
  await run('acme', 'k-1', 2).catch(() => undefined)
  await run('globex', 'k-1')
  expect(of('acme')).toEqual({
    tenant: 'acme',
    requests: 4,
    duplicates: 1,
    conflicts: 0,
    mismatches: 1,
    duplicateRate: 0.25,
    conflictRate: 0,
    mismatchRate: 0.25,
  })
  expect(of('globex')).toMatchObject({ requests: 1, duplicates: 0, mismatches: 0 })
  expect(watch.tenants().all).toMatchObject({ requests: 5, duplicates: 1, mismatches: 1, duplicateRate: 0.2 })
})

test('a duplicate that came while the first still ran is a conflict, too', async () => {
  const { run, of, hapax, policy } = watched()
  const running = gate()
  const first = hapax.run({ scope: 'acme', key: 'k-1', policy, input: 1 }, () => running.opened)
  await run('acme', 'k-1').catch(() => undefined)
  running.open()
  await first
  expect(of('acme')).toMatchObject({ requests: 2, duplicates: 1, conflicts: 1, conflictRate: 0.5 })
})

test('what a worker goes on with is no request of its tenant', async () => {
  const { hapax, of, clock, watch } = watched()
  let runs = 0
  const operation = hapax.operation('rides.create', { version: 1 }, async () => {
    if (++runs === 1) throw new Error('not now')
    return 'paid'
  })
  const heard: string[] = []
  onTestFinished(hapax.events.on('resumed', ({ by }) => heard.push(by)))
  await hapax.perform({ scope: 'acme', key: 'k-1', operation, input: 1 }).catch(() => undefined)
  await clock.advance(60_000)
  expect(await hapax.chores.resume(10)).toMatchObject([{ kind: 'ran' }])
  expect([runs, heard]).toEqual([2, ['worker']])
  expect(of('acme')).toMatchObject({ requests: 1, duplicates: 0 })
  const counted = (by: string) => read(watch, 'reserve.failed_retry.count', { operation: 'rides.create', by })
  expect([counted('request'), counted('worker')]).toEqual([0, 1])
})

test('rates are of the last minutes, and what is long ago does not count', async () => {
  const { run, of, clock, watch } = watched()
  const { windowMs } = watch.tenants()
  await run('acme', 'k-1')
  await run('acme', 'k-1')
  await clock.advance(windowMs)
  await run('acme', 'k-2')
  expect(of('acme')).toMatchObject({ requests: 3, duplicates: 1 })
  await clock.advance(windowMs)
  expect(of('acme')).toMatchObject({ requests: 1, duplicates: 0 })
  await clock.advance(windowMs)
  expect(of('acme')).toBeUndefined()
  expect(watch.tenants().all.requests).toBe(0)
})

test('of more tenants than are kept, those that ask most stay, and all of them are in the sum', async () => {
  const { hapax, run, of, watch } = watched()
  for (let asked = 0; asked < 20; asked++) await run('busy', `k-${asked % 10}`)
  const policy = hapax.policy({ name: 'payments.list' })
  for (let one = 0; one < 5_000; one++)
    await hapax.run({ scope: `tenant-${one}`, key: 'k', policy, input: 1 }, async () => 1)
  expect(watch.tenants().tenants.length).toBe(1_000)
  expect(watch.tenants().tenants[0]).toMatchObject({ tenant: 'busy', requests: 20, duplicates: 10 })
  expect(of('tenant-4999')).toMatchObject({ requests: 1 })
  expect(watch.tenants().all).toMatchObject({ requests: 5_020, duplicates: 10 })
})

test('no metric has a tenant for a label', async () => {
  const { run, watch } = watched()
  await run('tenant-with-a-name', 'k-1')
  const labels = watch.read().flatMap((metric) => metric.series().flatMap(({ labels }) => Object.values(labels)))
  expect(labels.length).toBeGreaterThan(10)
  expect(labels.filter((value) => value.includes('tenant-with-a-name'))).toEqual([])
})
