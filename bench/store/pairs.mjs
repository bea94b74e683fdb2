/** What is asked of a store: new keys, each reserved and completed; or replays of keys that are in stock. */
import { keyOf } from '../../dist/engine/key.js'
import { scopeOf } from '../../dist/engine/scope.js'
import { body } from './answer.mjs'

/** @typedef {import('../../dist/engine/store.js').Store<unknown>} Store */
/** @typedef {import('../../dist/engine/verdict.js').Reservation} Reservation */

export const scope = scopeOf('callers')

/** @type {import('../../dist/engine/store.js').Completion} */
export const completion = {
  answer: { kind: 'kept', status: 201, headers: [['content-type', 'application/json']], body },
  answerVersion: 1,
}

/**
 * @param {Pick<Store, 'reserve' | 'complete'>} store
 * @returns {import('../harness/loops.mjs').Once}
 */
export function pairsOn(store) {
  return async (key) => {
    const verdict = await store.reserve(reservation(key))
    if (verdict.kind !== 'reserved') throw new Error(`a new key was ${verdict.kind}`)
    if ((await store.complete(verdict.claim, completion)) === false) throw new Error('a claim was lost')
  }
}

/** Enough keys that callers at one time rarely ask for the same one. */
const stockSize = 5_000

/**
 * @param {Pick<Store, 'reserve' | 'complete'>} store
 * @returns {Promise<import('../harness/loops.mjs').Once>}
 */
export async function replaysOn(store) {
  const pair = pairsOn(store)
  const run = crypto.randomUUID()
  await Promise.all(Array.from({ length: stockSize }, (_, number) => pair(`${run}-${number}`, number)))
  return async (_, number) => {
    const verdict = await store.reserve(reservation(`${run}-${(number * 7_919) % stockSize}`))
    if (verdict.kind !== 'completed') throw new Error(`a known key was ${verdict.kind}`)
  }
}

/**
 * @param {string} key
 * @returns {Reservation}
 */
export function reservation(key) {
  return {
    scope,
    key: keyOf(key),
    claimId: key,
    operation: 'payments.create',
    fingerprints: [/** @type {any} */ ('sha256-v1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA')],
    onLeaseOver: 'doubt',
    onExpired: 'run',
    onNew: 'take',
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    tombstoneMs: 86_400_000,
  }
}
