/**
 * The inbox of an application that writes a payment for each event. Run as a program, it takes one delivery, as JSON, and
 * kills itself in the middle of it.
 */
import { argv, kill, pid } from 'node:process'
import { pathToFileURL } from 'node:url'
import { engine, inbox, standardWebhooks } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { onCrashPoint } from '../../../dist/kernel/crash-points.js'

export const secret = `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`

/**
 * @template Tx
 * @param {import('hapax').Engine<Tx>} hapax
 * @param {import('hapax').InboxOptions<Tx, { type: string, reference: string }>['handle']} handle
 * @param {string} provider
 */
export function inboxOf(hapax, handle, provider = 'airtm') {
  return inbox({ hapax, provider, verify: standardWebhooks({ secrets: [secret] }), handle })
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const [path = '', delivery = '', crashAt = ''] = argv.slice(2)
  onCrashPoint((point) => {
    if (point !== crashAt) return
    kill(pid, 'SIGKILL')
    for (;;);
  })
  const hapax = engine({ store: sqliteStore({ path }), log: () => {} })
  const airtm = inboxOf(hapax, async ({ eventId, tx }) => {
    await tx.run({ sql: 'INSERT INTO payments (made_by) VALUES (?)', parameters: [eventId] })
  })
  const { headers, body } = JSON.parse(delivery)
  await airtm.receive({ headers, body: Buffer.from(body) })
}
