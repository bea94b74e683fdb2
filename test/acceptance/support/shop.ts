import { rename } from 'node:fs/promises'
import type { Policy, PolicyOptions } from 'hapax'
import { type FileNode, testFile } from './test-file.js'

/** An application of our own on a real SQLite file, for what the sandbox has no knob for. */
export interface Shop extends FileNode {
  readonly path: string
  /** Every charge that left for the payment provider. */
  readonly charges: string[]
  /** Charges without anything that could take it back. */
  charge(what: string): Promise<{ readonly charge: string }>
  policy(options?: Partial<Omit<PolicyOptions, 'concurrency'>>): Policy<'reject'>
  /** Sets the store's clock. */
  at(ms: number): Promise<void>
  /** Takes the database away for real while `use` runs. */
  withoutDatabase<T>(use: () => Promise<T>): Promise<T>
}

export async function openShop(): Promise<Shop> {
  const { path, node, setTime } = await testFile()
  const { hapax, ...rest } = node()
  await hapax.open()
  const charges: string[] = []
  return {
    ...rest,
    hapax,
    path,
    charges,
    async charge(what) {
      charges.push(what)
      return { charge: what }
    },
    policy: (options = {}) => hapax.policy({ name: 'payments.create', ...options }),
    at: setTime,
    async withoutDatabase(use) {
      await rename(path, `${path}.away`)
      try {
        return await use()
      } finally {
        await rename(`${path}.away`, path)
      }
    },
  }
}
