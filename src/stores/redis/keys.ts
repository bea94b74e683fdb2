import { digestHex } from '../../engine/digest.js'
import type { RecordName } from '../../engine/record.js'
import { HapaxError } from '../../kernel/errors.js'

/** The names of keys: all of a store begin with its root, in whose braces a cluster finds what they are placed by. */
export interface Keys {
  readonly root: string
  /** A record's own, and the root it belongs to. */
  record(name: RecordName): readonly [root: string, record: string]
  /** An answer in front of another store. Nothing else goes with it, so that a cluster may have it anywhere. */
  replay(name: RecordName): string
}

export function keysOf(prefix: string): Keys {
  if (!/^[\w.:-]{1,100}$/.test(prefix))
    throw new HapaxError('store_unknown', 'prefix is what keys begin with: up to 100 letters, digits and .:_-')
  const root = `{${prefix}}`
  return {
    root,
    record: (name) => [root, `${root}:record:${digestHex(name)}`],
    replay: (name) => `${prefix}:replay:${digestHex(name)}`,
  }
}
