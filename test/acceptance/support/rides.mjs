/**
 * A ride that is paid for, as an operation: `started` → `ride_created` → `charge_created` → `finished`. Run as a program, it
 * makes one and kills itself at the crash point that it is given.
 */
import { argv, kill, pid } from 'node:process'
import { pathToFileURL } from 'node:url'
import { engine } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { onCrashPoint } from '../../../dist/kernel/crash-points.js'

/** @typedef {import('hapax').Engine<import('hapax/sqlite').SqliteTransaction>} Hapax */
/** @typedef {'honours' | 'can be asked' | 'one transaction' | 'nested'} Kind */
/** @typedef {{ readonly who: string }} Ride */

export const request = { scope: 'acme', key: 'k', input: { who: 'ann' } }

/**
 * @param {Hapax} hapax
 * @param {string} gateway
 * @param {Kind} kind what is known of the provider, or that there is none
 * @returns {import('hapax').Operation<import('hapax/sqlite').SqliteTransaction, Ride, { status: number, body: unknown }>}
 */
export function rides(hapax, gateway, kind) {
  if (kind === 'one transaction') return rowsOnly(hapax)
  if (kind === 'nested') return nested(hapax)
  return hapax.operation('rides.create', { version: 1 }, async (work, /** @type {Ride} */ { who }) => {
    const ride = await work.transaction('ride_created', async ({ tx }) => {
      await tx.run({ sql: 'INSERT INTO rides (who) VALUES (?)', parameters: [who] })
      return { who }
    })
    const charge = await work.call('charge_created', {
      run: async ({ key }) => asked(await fetch(gateway, { method: 'POST', headers: { 'idempotency-key': key } })),
      lookup: async ({ key }) => asked(await fetch(`${gateway}?key=${key}`)),
      ...(kind === 'honours' && { honoursKeyFor: /** @type {const} */ ('24h') }),
    })
    return work.commit(async ({ tx }) => {
      await tx.run({ sql: 'INSERT INTO orders (who) VALUES (?)', parameters: [who] })
      return { status: 201, body: { ride, charge } }
    })
  })
}

/**
 * @param {Response} response
 * @returns {Promise<any>}
 */
async function asked(response) {
  if (!response.ok) throw new Error(`the provider said ${response.status}`)
  return response.json()
}

/** @param {Hapax} hapax */
function rowsOnly(hapax) {
  const options = { version: 1, mode: /** @type {const} */ ('transaction') }
  return hapax.operation('rides.create', options, (work, /** @type {Ride} */ { who }) =>
    work.commit(async ({ tx }) => {
      await tx.run({ sql: 'INSERT INTO rides (who) VALUES (?)', parameters: [who] })
      await tx.run({ sql: 'INSERT INTO orders (who) VALUES (?)', parameters: [who] })
      return { status: 201, body: { ride: { who } } }
    }),
  )
}

/** @param {Hapax} hapax */
function nested(hapax) {
  const inner = hapax.operation('seats.take', { version: 1 }, (work, /** @type {Ride} */ { who }) =>
    work.commit(async ({ tx }) => {
      await tx.run({ sql: 'INSERT INTO rides (who) VALUES (?)', parameters: [who] })
      return { status: 201, body: { seat: who } }
    }),
  )
  return hapax.operation('rides.create', { version: 1 }, async (work, /** @type {Ride} */ input) => {
    const { value: seat } = await hapax.perform({ scope: 'acme', key: work.childKey('seat'), operation: inner, input })
    return work.commit(async ({ tx }) => {
      await tx.run({ sql: 'INSERT INTO orders (who) VALUES (?)', parameters: [input.who] })
      return { status: 201, body: { seat } }
    })
  })
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const [path = '', gateway = '', kind = '', crashAt = '', time = '1'] = argv.slice(2)
  let passed = 0
  onCrashPoint((point) => {
    if (point !== crashAt || ++passed < Number(time)) return
    kill(pid, 'SIGKILL')
    for (;;);
  })
  const hapax = engine({ store: sqliteStore({ path }), log: () => {} })
  await hapax.perform({ ...request, operation: rides(hapax, gateway, /** @type {Kind} */ (kind)) })
}
