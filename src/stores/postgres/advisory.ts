import { createHash } from 'node:crypto'

/** The number of an advisory lock. They belong to the whole database, so that the schema is part of what is locked. */
export function lockNumber(schema: string, what: 'order' | 'single', name: Uint8Array | string): string {
  const digest = createHash('sha256').update(`hapax ${what} ${schema} `).update(name).digest()
  return digest.readBigInt64BE().toString()
}
