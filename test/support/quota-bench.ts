import { type Engine, keyOf, type QuotaOptions, type ScopeParts, scopeOf } from 'hapax'
import { expect } from 'vitest'
import { type Bench, bench } from './bench.js'

/** Requests under quotas, all with one policy. */

export function benchWith(quotas: QuotaOptions): Bench {
  return bench(undefined, { quotas })
}

type Handler = Parameters<Engine<never>['run']>[1]

export function run(
  given: Bench,
  key: string,
  scope: string | ScopeParts = 'acme',
  handler: Handler = async () => 'done',
) {
  return given.hapax.run({ scope, key, policy: given.policy() }, handler)
}

/** Runs keys that are new and are let in. */
export async function runs(given: Bench, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    expect(await run(given, key)).toMatchObject({ replayed: false })
    expect(await given.faults.store.find({ scope: scopeOf('acme'), key: keyOf(key) })).toBeDefined()
  }
}

export function keysOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `key-${index}`)
}

export function isDone(ended: unknown): boolean {
  return (ended as { value?: unknown } | undefined)?.value === 'done'
}
