import { createHmac, createSecretKey, hash } from 'node:crypto'
import { HapaxError } from '../../kernel/errors.js'
import { framed } from '../framed.js'
import { type FieldPath, sortedPaths } from './fields.js'
import { type FingerprintStrategy, headerNames, type Unread } from './strategy.js'

/** Secrets by key id. A retired one stays listed for as long as records made with it may be retried. */
export interface FingerprintSecret {
  readonly keys: Readonly<Record<string, Uint8Array>>
  /** The id of the key that new fingerprints are made with. */
  readonly current: string
}

/** One way to make a fingerprint. Its id names version, algorithm, key and strategy, and never holds a colon. */
export interface Recipe {
  readonly id: string
  readonly strategy: FingerprintStrategy
  /** In hexadecimal. */
  readonly hashed: (bytes: Uint8Array) => string
}

/** Raise it when the same request would be hashed differently. */
const version = 1

/** Every recipe that a fingerprinter can make, by id: each key, and plain SHA-256, with each strategy. */
export function recipesOf(
  strategies: readonly FingerprintStrategy[],
  secret: FingerprintSecret | undefined,
): ReadonlyMap<string, Recipe> {
  const recipes = new Map<string, Recipe>()
  for (const [algorithm, hashed] of algorithmsOf(secret)) {
    for (const strategy of strategies) {
      const id = recipeId(algorithm, strategy)
      if (!recipes.has(id)) recipes.set(id, { id, strategy, hashed })
    }
  }
  return recipes
}

/** The recipe that new fingerprints are made by. */
export function currentRecipeId(strategy: FingerprintStrategy, secret: FingerprintSecret | undefined): string {
  return recipeId(secret === undefined ? plain : keyed(secret.current), strategy)
}

const plain = 'sha256'

function keyed(keyId: string): string {
  return `hmac-${checkedName(keyId, 'The id of a fingerprint key')}`
}

/** The size of the hash: a shorter secret is easier to guess than the hash. */
const secretBytes = 32

function algorithmsOf(secret: FingerprintSecret | undefined): [name: string, hashed: Recipe['hashed']][] {
  const algorithms: [string, Recipe['hashed']][] = [[plain, (bytes) => hash('sha256', bytes)]]
  if (secret === undefined) return algorithms
  if (!Object.hasOwn(secret.keys, secret.current)) {
    throw new HapaxError(
      'policy_invalid',
      `The current fingerprint key "${secret.current}" is not among the keys; list it.`,
    )
  }
  for (const [keyId, bytes] of Object.entries(secret.keys)) {
    if (bytes.byteLength < secretBytes) {
      throw new HapaxError(
        'policy_invalid',
        `The fingerprint key "${keyId}" is shorter than ${secretBytes} bytes; make it of that many random ones.`,
      )
    }
    const key = createSecretKey(bytes)
    algorithms.push([keyed(keyId), (bytes) => createHmac('sha256', key).update(bytes).digest('hex')])
  }
  return algorithms
}

function recipeId(algorithm: string, strategy: FingerprintStrategy): string {
  const { headers = [], without = [] } = strategy
  const names = headerNames(headers).map((name) => checkedName(name, 'A header of a fingerprint'))
  const also = names.length === 0 ? '' : `.headers-${shortHash(names)}`
  const less = without.length === 0 ? '' : `.without-${[...new Set(without)].map(checkedUnread).sort().join('-')}`
  return `${version}.${algorithm}.${strategyId(strategy)}${also}${less}`
}

function checkedUnread(what: Unread): string {
  if (what === 'query' || what === 'media_type') return what
  throw new HapaxError('policy_invalid', `A fingerprint goes without 'query' or 'media_type', not without "${what}".`)
}

function strategyId(strategy: FingerprintStrategy): string {
  switch (strategy.kind) {
    case 'whole':
    case 'raw':
      return strategy.kind
    case 'fields': {
      const mode = strategy.select === undefined ? 'exclude' : 'select'
      return `fields-${shortHash([mode, ...checkedPaths(strategy.select ?? strategy.exclude)])}`
    }
    case 'header':
      return `header-${checkedName(strategy.name.toLowerCase(), 'The header of a fingerprint')}`
    case 'own':
      return `own-${checkedName(strategy.id, 'The id of a fingerprint function')}`
  }
  throw new HapaxError('policy_invalid', `There is no fingerprint strategy "${(strategy as { kind: unknown }).kind}".`)
}

function checkedPaths(paths: readonly FieldPath[]): string[] {
  const sorted = sortedPaths(paths)
  if (sorted.length === 0 || sorted.some((path) => path.length === 0)) {
    throw new HapaxError(
      'policy_invalid',
      "A fingerprint over fields names at least one, like 'customerId' or 'destination.ref'.",
    )
  }
  return sorted.map((path) => JSON.stringify(path))
}

function shortHash(parts: readonly string[]): string {
  return hash('sha256', framed(parts)).slice(0, 8)
}

function checkedName(name: string, what: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return name
  throw new HapaxError(
    'policy_invalid',
    `${what} is ${JSON.stringify(name)}; use letters, digits, "-" and "_", up to 64.`,
  )
}
