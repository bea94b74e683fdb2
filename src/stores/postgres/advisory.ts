import { hash } from 'node:crypto'

/** The number of an advisory lock. They belong to the whole database, so that the schema is part of what is locked. */
export function lockNumber(schema: string, what: 'order' | 'single', name: Uint8Array | string): string {
  const bytes = typeof name === 'string' ? Buffer.from(name) : name
  const digest = hash('sha256', Buffer.concat([Buffer.from(`hapax ${what} ${schema} `), bytes]))
  return BigInt.asIntN(64, BigInt(`0x${digest.slice(0, 16)}`)).toString()
}
