import assert from 'node:assert/strict'
import type { Testimony } from '../../engine/inbox-store.js'
import { same } from '../expect.js'
import { checkpoint, claimed, reason } from '../given.js'
import type { Show } from '../stage.js'

/** Every event of a provider is processed once, however often and wherever it is delivered. */
export const inbox: Readonly<Record<string, Show>> = {
  'an event is processed with its rows, and once: the next delivery is a duplicate': async (stage) => {
    const receive = () => stage.inbox(stage.store).receive(event, processing)
    same(await receive(), { kind: 'processed', value: 'the value' })
    assert.equal(await stage.countRows(), 1)
    same(await receive(), { kind: 'duplicate' })
    same(await stage.inbox(await stage.open()).receive(event, processing), { kind: 'duplicate' })
    assert.equal(await stage.countRows(), 1)

    async function processing(tx: unknown) {
      await stage.insert(tx, 'paid')
      return { value: 'the value', testimonies: [] }
    }
  },

  'an event of another provider, or with another id, is another event': async (stage) => {
    for (const other of [event, { ...event, eventId: 'evt_2' }, { ...event, provider: 'stripe' }])
      same(await stage.inbox(stage.store).receive(other, async () => ({ value: 1, testimonies: [] })), {
        kind: 'processed',
        value: 1,
      })
  },

  'an event whose work fails leaves nothing, and its redelivery is processed': async (stage) => {
    const error = new Error('no such ride')
    const failing = stage.inbox(stage.store).receive(event, async (tx) => {
      await stage.insert(tx, 'in vain')
      throw error
    })
    assert.equal(await failing.catch((reason: unknown) => reason), error)
    assert.equal(await stage.countRows(), 0)
    const again = await stage.inbox(stage.store).receive(event, async (tx) => {
      await stage.insert(tx, 'paid')
      return { value: 'at last', testimonies: [] }
    })
    same(again, { kind: 'processed', value: 'at last' })
    assert.equal(await stage.countRows(), 1)
  },

  'of twenty deliveries at once one is processed, and nineteen are duplicates': async (stage) => {
    const other = await stage.open()
    const receipts = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        stage.inbox(index % 2 === 0 ? stage.store : other).receive(event, async (tx) => {
          await stage.insert(tx, 'paid')
          return { value: undefined, testimonies: [] }
        }),
      ),
    )
    assert.equal(receipts.filter(({ kind }) => kind === 'processed').length, 1)
    assert.equal(receipts.filter(({ kind }) => kind === 'duplicate').length, 19)
    assert.equal(await stage.countRows(), 1)
  },

  'a delivery that comes while the first is under way waits, and is processed if that one fails': async (stage) => {
    const other = await stage.open()
    let second: Promise<unknown> = Promise.resolve()
    const first = stage.inbox(stage.store).receive(event, async (tx) => {
      await stage.insert(tx, 'in vain')
      second = stage.inbox(other).receive(event, async () => ({ value: 'the second', testimonies: [] }))
      second.catch(() => undefined)
      throw new Error('the first fails')
    })
    await assert.rejects(first, /the first fails/)
    same(await second, { kind: 'processed', value: 'the second' })
  },

  'what an event testifies commits with its work, and not without it': async (stage) => {
    const { receive } = stage.inbox(stage.store)
    const { calls } = stage.store
    assert.ok(calls !== undefined, 'whoever has an inbox keeps what was said about calls')
    const failing = receive(event, async () => {
      throw new Error('no such ride')
    })
    await assert.rejects(failing)
    same(await calls.testimonies(['down-a', 'down-b']), [])
    for (const _ of [1, 2]) await receive(event, async () => ({ value: undefined, testimonies }))
    same(
      await calls.testimonies(['down-a', 'down-b']),
      testimonies.map((testimony) => ({ ...testimony, at: stage.startedAt })),
    )
    same(
      (await calls.testimonies(['down-b'])).map(({ downstreamKey }) => downstreamKey),
      ['down-b'],
    )
  },

  'a doubt that was left to a person is due again, with the event that testifies about it': async (stage) => {
    const { store } = stage
    const claim = await claimed(store)
    await store.checkpoint(claim, { ...checkpoint, call: { kind: 'begun', key: 'down-a', phase: 'charge_created' } })
    await store.doubt(claim, reason)
    await store.postpone(claim, { generation: 1, looks: 3, afterMs: undefined })
    const dueAt = async () => (await store.find(claim))?.reconcileAfter
    await assert.rejects(stage.inbox(store).receive(event, async () => assert.fail('no such ride')))
    same(await dueAt(), undefined)
    await stage.at(1_000)
    await stage.inbox(store).receive(event, async () => ({ value: undefined, testimonies }))
    same([(await store.find(claim))?.looks, await dueAt()], [3, stage.startedAt + 1_000])
    await store.postpone(claim, { generation: 1, looks: 3, afterMs: undefined })
    await store.calls?.testify({
      downstreamKey: 'down-a',
      says: 'landed',
      by: 'operator:ann',
      why: 'it is on the bill',
    })
    same(await dueAt(), stage.startedAt + 1_000)
  },

  'events are forgotten in batches once they are old enough, and not before': async (stage) => {
    const receive = (eventId: string) =>
      stage.inbox(stage.store).receive({ ...event, eventId }, async () => ({ value: undefined, testimonies: [] }))
    for (const eventId of ['evt_1', 'evt_2', 'evt_3']) await receive(eventId)
    await stage.at(60_000)
    await receive('evt_4')
    const reap = (limit: number) => stage.inbox(stage.store).reap(limit, 60_000)
    assert.equal(await stage.inbox(stage.store).reap(10, 60_001), 0)
    assert.equal(await reap(2), 2)
    assert.equal(await reap(2), 1)
    assert.equal(await reap(2), 0)
    assert.equal((await receive('evt_4')).kind, 'duplicate')
    assert.equal((await receive('evt_1')).kind, 'processed')
  },
}

const event = { provider: 'airtm', eventId: 'evt_1' }

const testimonies: readonly Testimony[] = [
  { downstreamKey: 'down-a', says: 'landed', result: Buffer.from('{"id":7}'), by: 'webhook:airtm', why: 'evt_1' },
  { downstreamKey: 'down-b', says: 'not_landed', by: 'webhook:airtm', why: 'evt_1' },
]
