import { HapaxError, type Received, type WebhookEvidence } from 'hapax'
import { describe, expect, test } from 'vitest'
import { bounded } from '../support/waiting.js'
import { airtm, host, type Payment, type Rows, signed } from './given.js'

const landed: WebhookEvidence = { downstreamKey: 'dk_1', says: 'landed', why: 'event payment.succeeded' }

/** An inbox whose work says this. */
function saying(...said: readonly unknown[]) {
  const hapax = host()
  const inbox = airtm(hapax, {
    handle: ({ evidence }) => {
      for (const one of said) evidence(one as WebhookEvidence)
    },
  })
  return { hapax, receive: () => inbox.receive(signed(hapax)) }
}

describe('evidence', () => {
  test('is stored with the event, in the name of the provider, and acted on once it is committed', async () => {
    const { hapax, receive } = saying({ ...landed, result: { id: 'pay_1' } }, { ...landed, says: 'not_landed' })
    expect((await receive()).body).toBe('{"status":"ok"}')
    const told = { downstreamKey: 'dk_1', by: 'webhook:airtm', why: 'event payment.succeeded' }
    expect(hapax.stored).toEqual([
      { ...told, says: 'landed', result: new TextEncoder().encode('{"id":"pay_1"}') },
      { ...told, says: 'not_landed' },
    ])
    expect(hapax.testifiedOf).toEqual([hapax.stored])
    expect(hapax.steps).toEqual(['receive', 'commit', 'testified'])
  })

  test('of a duplicate is not given again, and where none was given nobody is bothered', async () => {
    const { hapax, receive } = saying(landed)
    await receive()
    await receive()
    expect(hapax.testifiedOf).toHaveLength(1)
    const silent = saying()
    await silent.receive()
    expect(silent.hapax.steps).toEqual(['receive', 'commit'])
  })

  test('of work that was rolled back is acted on by nobody', async () => {
    const { hapax, receive } = saying(landed)
    hapax.fail('commit', new HapaxError('store_failed'))
    expect((await receive()).status).toBe(503)
    expect(hapax.stored).toEqual([])
    expect(hapax.testifiedOf).toEqual([])
  })

  test('that cannot be acted on at once fails no delivery: it is durable, and the log says so', async () => {
    const { hapax, receive } = saying(landed)
    hapax.fail('testified', new HapaxError('store_busy'))
    expect((await receive()).body).toBe('{"status":"ok"}')
    expect(hapax.stored).toHaveLength(1)
    expect(hapax.logged).toEqual([expect.objectContaining({ level: 'warn', code: 'webhook_evidence_waits' })])
  })

  test('is not waited for without end', async () => {
    const hapax = { ...host(), testified: () => new Promise<void>(() => {}) }
    const receipt = airtm(hapax, { handle: ({ evidence }) => evidence(landed) }).receive(signed(hapax))
    await hapax.clock.advance(5_000)
    expect((await bounded(receipt, 'a reply')).body).toBe('{"status":"ok"}')
  })

  test.each([undefined, '', 'with blank', 'é', 'x'.repeat(256), 17])(
    'about %j is about no call of ours: left out and told, and the event is processed',
    async (downstreamKey) => {
      const { hapax, receive } = saying({ ...landed, downstreamKey })
      expect((await receive()).status).toBe(200)
      expect(hapax.stored).toEqual([])
      expect(hapax.logged).toEqual([expect.objectContaining({ code: 'webhook_evidence_ignored' })])
    },
  )

  test.each<[string, object]>([
    ['says neither', { says: 'maybe' }],
    ['has a result that is no data', { result: () => 1 }],
    ['has a result that JSON cannot write', { result: { cents: 1n } }],
  ])('that %s is a bug: nothing is committed', async (_, wrong) => {
    const { hapax, receive } = saying({ ...landed, ...wrong })
    expect((await receive()).status).toBe(500)
    expect(hapax.steps).toEqual(['receive'])
  })

  test('is kept with grounds that any database and any log can hold', async () => {
    const { hapax, receive } = saying(
      { ...landed, why: `a\u0000b\n${'x'.repeat(250)}😀` },
      { ...landed, why: undefined },
    )
    await receive()
    expect(hapax.stored.map(({ why }) => why)).toEqual([`a?b?${'x'.repeat(250)}\ufffd`, ''])
  })

  test('that comes after the work has returned is refused, since it would be lost', async () => {
    const hapax = host()
    const kept: Received<Rows, Payment>[] = []
    await airtm(hapax, { handle: (received) => kept.push(received) }).receive(signed(hapax))
    expect(() => kept[0]?.evidence(landed)).toThrow(expect.objectContaining({ code: 'transaction_ended' }))
    expect(hapax.stored).toEqual([])
  })
})
