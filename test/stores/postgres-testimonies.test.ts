import type { EffectOutcome } from 'hapax'
import { expect, test } from 'vitest'
import { checkpoint, claimed, completion, reason, reservation } from '../../dist/conformance/given.js'
import { effect } from '../../dist/conformance/given-effects.js'
import { pgLibrary } from '../conformance/postgres-libraries.js'
import { onPostgres } from '../support/on-postgres.js'
import { ended } from '../support/waiting.js'
import { postgresBench } from './postgres-fixtures/bench.js'
import { hold, untilBlocked } from './postgres-fixtures/blocking.js'
import { claim, name } from './postgres-fixtures/operations.js'

const event = { provider: 'airtm', eventId: 'evt_1' }
const landed = { downstreamKey: 'down-a', says: 'landed', by: 'webhook:airtm', why: 'it was done' } as const
const testified = async () => ({ value: undefined, testimonies: [landed] })

/** Whoever could leave to people what an event is just telling of knows of that event first. */
onPostgres('while an event about it is being committed', (url) => {
  const bench = postgresBench(url)
  const other = bench.outside as Required<typeof bench.outside>

  /** An event whose COMMIT stands still on the wire. */
  async function committing() {
    const { store, wire } = await bench.node(pgLibrary)
    const commit = hold(wire, /^COMMIT/)
    const receiving = ended((store as Required<typeof store>).inbox.receive(event, testified))
    await commit.arrived
    return { commit, receiving }
  }

  test('whoever doubts a request waits, and then knows of it', async () => {
    await claimed(other, { ...name, claimId: claim.claimId })
    const call = { kind: 'begun', key: 'down-a', phase: 'charge_created' } as const
    expect(await other.checkpoint(claim, { ...checkpoint, call })).toBe(true)
    const { commit, receiving } = await committing()
    const doubting = ended(other.doubt(claim, reason))
    await untilBlocked(bench.owner, 'UPDATE', bench.schema, 'records')
    expect(await other.calls.testimonies(['down-a'])).toEqual([])
    commit.release()
    expect(await receiving).toMatchObject({ answer: { kind: 'processed' } })
    expect(await doubting).toEqual({ kind: 'answered', answer: true })
    expect(await other.calls.testimonies(['down-a'])).toMatchObject([{ says: 'landed' }])
  })

  test('whoever doubts an effect waits, and then knows of it', async () => {
    await other.single(reservation({ ...name, claimId: claim.claimId }), async () => ({
      value: undefined,
      rows: 'keep',
      completion: completion(),
      effects: [effect('a', { downstreamKey: 'down-a' })],
    }))
    const [held] = await other.effects.claim({ kinds: ['receipt.send'], limit: 1, leaseMs: 10_000 })
    if (held === undefined) throw new Error('an effect that is ready can be claimed')
    const { commit, receiving } = await committing()
    const outcome: EffectOutcome = { kind: 'unknown', errorCode: 'provider_timeout', reconcileAfterMs: 2_000 }
    const doubting = ended(other.effects.settle([{ claim: held, outcome }]))
    await untilBlocked(bench.owner, 'UPDATE', bench.schema, 'effect_states')
    commit.release()
    expect(await receiving).toMatchObject({ answer: { kind: 'processed' } })
    expect(await doubting).toEqual({ kind: 'answered', answer: [true] })
  })

  test('what has been answered waits for nobody', async () => {
    await claimed(other, { ...name, claimId: claim.claimId })
    const call = { kind: 'begun', key: 'down-a', phase: 'charge_created' } as const
    await other.checkpoint(claim, { ...checkpoint, call })
    await other.complete(claim, completion())
    const { commit, receiving } = await committing()
    const { rows } = await bench.owner.query(`SELECT id FROM ${bench.schema}.records FOR UPDATE SKIP LOCKED`)
    expect(rows).toHaveLength(1)
    commit.release()
    expect(await receiving).toMatchObject({ answer: { kind: 'processed' } })
  })
})
