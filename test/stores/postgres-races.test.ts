import type { RecordName, Store } from 'hapax'
import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import {
  checkpoint,
  claimed,
  completed,
  completion,
  doubted,
  failed,
  failure,
  leaseMs,
  reservation,
  retentionMs,
  settlement,
} from '../../dist/conformance/given.js'
import { pgLibrary } from '../conformance/postgres-libraries.js'
import { onPostgres } from '../support/on-postgres.js'
import type { Fate } from '../support/postgres-wire.js'
import { bounded, ended, gate } from '../support/waiting.js'
import { noon, postgresBench } from './postgres-fixtures/bench.js'
import { hold, untilBlocked } from './postgres-fixtures/blocking.js'
import { claim, name } from './postgres-fixtures/operations.js'

/** Two at once on one record, each held where it hurts most. The library makes no difference here. */
onPostgres('two at once on one record', (url) => {
  declare(url, 'read committed', undefined)
  declare(url, 'serializable', 'options=-c%20default_transaction_isolation%3Dserializable')
})

function declare(url: string, isolation: string, search: string | undefined): void {
  describe(`where transactions are ${isolation} by default`, () => {
    const bench = postgresBench(url)
    /** The other one, on a connection of its own. */
    const other = bench.outside
    const given = async (before: (store: Store<never>) => Promise<unknown> = async () => {}) => {
      await before(other)
      return bench.node(pgLibrary, search === undefined ? {} : { search })
    }

    const mine = { ...name, claimId: claim.claimId }
    const theirs = { ...name, claimId: 'claim-2' }
    const state = async () => (await other.find(name))?.state

    test.each([
      ['commits', 'in_progress'],
      ['rolls back', 'reserved'],
    ] as const)('a reservation waits for another one that is not committed yet, which then %s', async (end, kind) => {
      const { store } = await given()
      const rival = await bench.owner.connect()
      try {
        await rival.query('BEGIN')
        await insertRaw(rival, bench.schema, name)
        const reserving = ended(store.reserve(reservation(mine)))
        await untilBlocked(bench.owner, 'INSERT', bench.schema)
        await rival.query(end === 'commits' ? 'COMMIT' : 'ROLLBACK')
        expect(await reserving).toMatchObject({ kind: 'answered', answer: { kind } })
      } finally {
        rival.release()
      }
    })

    test('a reservation does not wait for a transaction that is about to change the record', async () => {
      const { store } = await given((before) => claimed(before, theirs))
      const rival = await bench.owner.connect()
      try {
        await rival.query('BEGIN')
        await rival.query(`UPDATE ${bench.schema}.records SET looks = looks + 1`)
        const reserving = bounded(ended(store.reserve(reservation(mine))), 'a reservation that waits for nobody')
        expect(await reserving).toMatchObject({ answer: { kind: 'in_progress' } })
      } finally {
        await rival.query('ROLLBACK')
        rival.release()
      }
    })

    test.each(['COMMIT', 'ROLLBACK'])(
      'one transaction waits for another that has changed a record of its key since, and has lost the key after its %s',
      async (end) => {
        const { store } = await given()
        const rival = await bench.owner.connect()
        try {
          const running = ended(
            (store as Required<typeof store>).single(reservation(mine), async () => {
              await claimed(other, theirs)
              await rival.query('BEGIN')
              await rival.query(`UPDATE ${bench.schema}.records SET looks = looks + 1`)
              return { value: 7, rows: 'keep', completion: completion() }
            }),
          )
          await untilBlocked(bench.owner, 'INSERT', bench.schema)
          await rival.query(end)
          expect(await running).toMatchObject({ kind: 'threw', error: { code: 'claim_lost' } })
        } finally {
          rival.release()
        }
      },
    )

    test('a key that is given back between the insert and the read is reserved anew', async () => {
      const { store, wire } = await given((before) => claimed(before, theirs))
      const read = hold(wire, /^SELECT/)
      const reserving = ended(store.reserve(reservation(mine)))
      await read.arrived
      expect(await other.release({ ...claim, claimId: 'claim-2' })).toBe(true)
      read.release()
      expect(await reserving).toMatchObject({ answer: { kind: 'reserved', claim: { fence: 1, claimId: 'claim-1' } } })
    })

    test('a release whose record is taken over between its read and its write gives nothing back', async () => {
      const { store, wire } = await given((before) => claimed(before, { ...mine, onLeaseOver: 'resume' }))
      const write = hold(wire, /^WITH/)
      const releasing = ended(store.release(claim))
      await write.arrived
      await bench.setTime(noon + leaseMs)
      expect(await other.reserve(reservation(theirs))).toMatchObject({ kind: 'resumed' })
      write.release()
      expect(await releasing).toEqual({ kind: 'answered', answer: false })
      expect(await other.find(name)).toMatchObject({ claimId: 'claim-2', fence: 2 })
    })

    test('of two that both read a failed record, one resumes it', async () => {
      const { store, wire } = await given((before) => failed(before, { ...name, claimId: 'claim-0' }))
      const write = hold(wire, /^UPDATE/)
      const second = ended(store.reserve(reservation(mine)))
      await write.arrived
      expect(await other.reserve(reservation(theirs))).toMatchObject({ kind: 'resumed' })
      write.release()
      expect(await second).toMatchObject({ answer: { kind: 'in_progress' } })
      expect(await other.find(name)).toMatchObject({ claimId: 'claim-2', fence: 2, attempt: 2 })
    })

    test('a sweep before a late answer leaves the doubt to be completed by it', async () => {
      const { store, wire } = await given((before) => claimed(before, mine))
      const write = hold(wire, /^UPDATE/)
      const completing = ended(store.complete(claim, completion()))
      await write.arrived
      await bench.setTime(noon + leaseMs)
      expect(await other.sweep(10)).toHaveLength(1)
      write.release()
      expect(await completing).toMatchObject({ answer: { expiresAt: noon + leaseMs + retentionMs } })
      expect(await state()).toBe('completed')
    })

    test('a sweep between the read and the write of a failure changes nothing that it says', async () => {
      const { store, wire } = await given((before) => claimed(before, mine))
      const write = hold(wire, /^UPDATE/)
      const failing = ended(store.fail(claim, failure))
      await write.arrived
      await bench.setTime(noon + leaseMs)
      expect(await other.sweep(10)).toHaveLength(1)
      write.release()
      expect(await failing).toEqual({ kind: 'answered', answer: false })
      expect(await state()).toBe('unknown')
    })

    test('a late answer before a sweep leaves nothing to sweep', async () => {
      const { store, wire } = await given((before) => claimed(before, mine))
      await bench.setTime(noon + leaseMs)
      const sweep = hold(wire, /^UPDATE/)
      const sweeping = ended(store.sweep(10))
      await sweep.arrived
      expect(await other.complete(claim, completion())).toBeTruthy()
      sweep.release()
      expect(await sweeping).toEqual({ kind: 'answered', answer: [] })
      expect(await state()).toBe('completed')
    })

    test('a claim that is taken over while its handler is in a transaction is lost, and so are its rows', async () => {
      const { store, ride } = await given((before) => claimed(before, { ...mine, onLeaseOver: 'resume' }))
      const inside = gate()
      const taken = gate()
      const running = ended(
        store.transaction(claim, async (tx) => {
          await ride(tx, 'one')
          inside.open()
          await taken.opened
          return { value: 7, write: { kind: 'complete', ...completion() } }
        }),
      )
      await bounded(inside.opened, 'the handler')
      await bench.setTime(noon + leaseMs)
      expect(await other.reserve(reservation(theirs))).toMatchObject({ kind: 'resumed' })
      taken.open()
      expect(await running).toMatchObject({ kind: 'threw', error: { code: 'claim_lost' } })
      expect(await bench.rides()).toEqual([])
      expect(await other.find(name)).toMatchObject({ state: 'in_progress', claimId: 'claim-2' })
    })

    test.each(['checkpoint', 'complete'] as const)(
      'a renewal is not held up by a handler in a transaction, which then commits its %s',
      async (kind) => {
        const { store, ride } = await given((before) => claimed(before, mine))
        const inside = gate()
        const renewed = gate()
        const running = ended(
          store.transaction(claim, async (tx) => {
            await ride(tx, 'one')
            inside.open()
            await renewed.opened
            return { value: 7, write: kind === 'complete' ? { kind, ...completion() } : { kind, ...checkpoint } }
          }),
        )
        await bounded(inside.opened, 'the handler')
        expect(await bounded(store.renew(claim, 2 * leaseMs), 'the renewal')).toBe(true)
        renewed.open()
        expect(await running).toMatchObject({ kind: 'answered', answer: { value: 7 } })
        expect(await bench.rides()).toEqual(['one'])
      },
    )

    test('evidence that comes before a late answer wins', async () => {
      const { store, wire } = await given((before) => doubted(before, mine))
      const write = hold(wire, /^UPDATE/)
      const completing = ended(store.complete(claim, completion()))
      await write.arrived
      expect(await other.settle(name, settlement({ kind: 'not_landed' }))).toBe(true)
      write.release()
      expect(await completing).toEqual({ kind: 'answered', answer: false })
      expect(await state()).toBe('failed_retryable')
    })

    test('a late answer that comes between the read and the write of evidence wins', async () => {
      const { store, wire } = await given((before) => doubted(before, mine))
      const write = hold(wire, /^UPDATE/)
      const settling = ended(store.settle(name, settlement({ kind: 'not_landed' })))
      await write.arrived
      expect(await other.complete(claim, completion())).toBeTruthy()
      write.release()
      expect(await settling).toEqual({ kind: 'answered', answer: false })
      expect(await other.find(name)).toMatchObject({ state: 'completed', evidence: [] })
    })

    test('a key that is buried between the read and the write of its next use is used all the same', async () => {
      const { store, wire } = await given((before) => completed(before, theirs))
      await bench.setTime(noon + retentionMs)
      const write = hold(wire, /^UPDATE/)
      const reserving = ended(store.reserve(reservation(mine)))
      await write.arrived
      expect(await other.reap(10)).toEqual({ buried: 1, deleted: 0 })
      write.release()
      expect(await reserving).toMatchObject({ answer: { kind: 'reserved', claim: { generation: 2, fence: 2 } } })
    })

    test('a key that is used anew before the reaper comes is left alone', async () => {
      const { store, wire } = await given((before) => completed(before, theirs))
      await bench.setTime(noon + retentionMs)
      const bury = hold(wire, /^UPDATE/)
      const reaping = ended(store.reap(10))
      await bury.arrived
      expect(await other.reserve(reservation(mine))).toMatchObject({ kind: 'reserved' })
      bury.release()
      expect(await reaping).toEqual({ kind: 'answered', answer: { buried: 0, deleted: 0 } })
      expect(await other.find(name)).toMatchObject({ state: 'in_progress', generation: 2 })
    })

    test('a record that others keep changing is given up as busy, and nothing happened to it', async () => {
      const { store, wire } = await given((before) => claimed(before, mine))
      wire.rule(async ({ word }): Promise<Fate> => {
        if (word === 'UPDATE') expect(await other.renew(claim, leaseMs)).toBe(true)
        return 'pass'
      })
      const before = await other.find(name)
      expect(await ended(store.fail(claim, failure))).toMatchObject({ kind: 'threw', error: { code: 'store_busy' } })
      expect(await other.find(name)).toEqual(before)
      expect(wire.statements.filter(({ word }) => word === 'UPDATE')).toHaveLength(10)
    })
  })
}

/** A record as another node would write it, in a transaction that the test holds open. */
async function insertRaw(on: pg.PoolClient, schema: string, { scope, key }: RecordName): Promise<void> {
  await on.query(
    `INSERT INTO ${schema}.records (digest, scope_id, idempotency_key, claim_id, operation, request_fingerprint,
      on_lease_over, tombstone_ms, locked_until, expires_at, generation, fence, attempt, status, recovery_point, evidence,
      created_at, last_run_at)
    SELECT ${schema}.digest($1, $2), $1, $2, 'rival', 'payments.create', $3, 'doubt', 0, now + interval '30 s', 'infinity',
      1, 1, 1, 'in_progress', 'started', '[]', now, now FROM (SELECT ${schema}.clock() AS now) t`,
    [scope, key, reservation().fingerprints[0]],
  )
}
