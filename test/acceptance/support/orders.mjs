/**
 * An order whose escrow is made by a worker: one commit holds the order, the answer and the effect. Run as a program, it
 * takes an order, lets a worker make one pass, and kills itself at the crash point that it is given.
 */
import { argv, kill, pid } from 'node:process'
import { pathToFileURL } from 'node:url'
import { effects, engine, workOnce } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { onCrashPoint } from '../../../dist/kernel/crash-points.js'

/** @typedef {'honours' | 'can be asked'} Kind */

export const request = { scope: 'acme', key: 'k', input: { who: 'ann' } }

/**
 * @param {string} gateway
 * @param {Kind} kind what is known of the provider
 */
export function escrows(gateway, kind) {
  return effects({
    'escrow.create': {
      call: async (/** @type {import('hapax').EffectCall<{ who: string }>} */ { key, signal }) =>
        asked(await fetch(gateway, { method: 'POST', headers: { 'idempotency-key': key }, signal })),
      lookup: async ({ key }) => asked(await fetch(`${gateway}?key=${key}`)),
      providerId: ({ id }) => id,
      apply: async (/** @type {import('hapax/sqlite').SqliteTransaction} */ tx, { id }) => {
        await tx.run({ sql: 'INSERT INTO escrows (provider_id) VALUES (?)', parameters: [id] })
      },
      ...(kind === 'honours' && { honoursKeyFor: /** @type {const} */ ('24h') }),
    },
  })
}

/** @param {import('hapax').Engine<import('hapax/sqlite').SqliteTransaction>} hapax */
export function orders(hapax) {
  return hapax.operation('orders.create', { version: 1 }, (work, /** @type {{ who: string }} */ { who }) =>
    work.commit(async ({ tx, effect }) => {
      await tx.run({ sql: 'INSERT INTO orders (who) VALUES (?)', parameters: [who] })
      effect('escrow.create', { who })
      return { status: 201, body: { order: who } }
    }),
  )
}

/**
 * @param {Response} response
 * @returns {Promise<any>}
 */
async function asked(response) {
  if (!response.ok) throw new Error(`the provider said ${response.status}`)
  return response.json()
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const [path = '', gateway = '', kind = '', crashAt = ''] = argv.slice(2)
  onCrashPoint((point) => {
    if (point !== crashAt) return
    kill(pid, 'SIGKILL')
    for (;;);
  })
  const outbox = escrows(gateway, /** @type {Kind} */ (kind))
  const hapax = engine({ store: sqliteStore({ path }), effects: outbox, log: () => {} })
  await hapax.perform({ ...request, operation: orders(hapax) })
  await workOnce({ hapax })
}
