import { afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { checkpoint, claimed, completion, failure } from '../../dist/conformance/given.js'
import { begins, spoken } from '../../dist/stores/postgres/transactions/source.js'
import { onPostgres } from '../support/on-postgres.js'
import { postgresWire } from '../support/postgres-wire.js'
import { bounded, ended, gate } from '../support/waiting.js'
import { postgresBench } from './postgres-fixtures/bench.js'
import { claim, name } from './postgres-fixtures/operations.js'
import { drizzleOnPgFixture, drizzleOnPostgresJsFixture } from './postgres-tools/drizzle.js'
import { connectionsOfTool, type Place, type ToolFixture, type ToolNode } from './postgres-tools/fixture.js'
import { knexFixture } from './postgres-tools/knex.js'
import { kyselyFixture } from './postgres-tools/kysely.js'
import { pgliteFixture } from './postgres-tools/pglite.js'
import { prismaFixture } from './postgres-tools/prisma.js'
import { typeOrmFixture } from './postgres-tools/typeorm.js'

/** The transactions of a handler, opened by the tool that an application has. */
onPostgres('a transaction', (url) => {
  declare(url, kyselyFixture)
  declare(url, drizzleOnPgFixture)
  declare(url, drizzleOnPostgresJsFixture)
  declare(url, prismaFixture)
  declare(url, knexFixture)
  declare(url, typeOrmFixture)
  declare(url, pgliteFixture)
})

const answer = { kind: 'complete', ...completion() } as const

function declare<Tx>(url: string, tool: ToolFixture<Tx>): void {
  describe(`by ${tool.name}`, () => {
    const bench = postgresBench(url)
    const nodes: ToolNode<Tx>[] = []
    beforeAll(async () => void (await tool.prepare?.()), 60_000)
    afterEach(async () => void (await Promise.all(nodes.splice(0).map((node) => node.end()))))

    const given = async (place: Partial<Place> = {}) => {
      const node = await tool.connect({ url, bench, options: {}, ...place })
      nodes.push(node)
      await claimed(node.outside, { ...name, claimId: claim.claimId })
      return node
    }
    const recordIn = ({ outside }: ToolNode<Tx>) => outside.find(name)

    test('shows its rows and the answer together, and not before', async () => {
      const node = await given()
      const done = await node.store.transaction(claim, async (tx) => {
        await node.ride(tx, 'one')
        if (tool.connections === 'many') expect(await node.rides()).toEqual([])
        return { value: 7, write: answer }
      })
      expect(done).toMatchObject({ value: 7 })
      expect(await node.rides()).toEqual(['one'])
      expect(await recordIn(node)).toMatchObject({ state: 'completed', answer: answer.answer })
    })

    test('with a checkpoint keeps the rows and the recovery point', async () => {
      const node = await given()
      await node.store.transaction(claim, async (tx) => {
        await node.ride(tx, 'one')
        return { value: 7, write: { kind: 'checkpoint', ...checkpoint } }
      })
      expect(await node.rides()).toEqual(['one'])
      expect(await recordIn(node)).toMatchObject({
        state: 'in_progress',
        recoveryPoint: checkpoint.recoveryPoint,
        progress: checkpoint.progress,
      })
    })

    test('whose function throws leaves neither, and throws what that threw', async () => {
      const node = await given()
      const mistake = new Error('no seats')
      const running = node.store.transaction(claim, async (tx) => {
        await node.ride(tx, 'one')
        throw mistake
      })
      expect(await ended(running)).toEqual({ kind: 'threw', error: mistake })
      expect(await node.rides()).toEqual([])
      expect(await recordIn(node)).toMatchObject({ state: 'in_progress', recoveryPoint: 'started' })
    })

    test('in which a statement failed commits nothing, even if nobody minds', async () => {
      const node = await given()
      const running = node.store.transaction(claim, async (tx) => {
        await node.ride(tx, 'one')
        await node.ask(tx, 'SELECT 1 / 0').catch(() => undefined)
        return { value: 7, write: answer }
      })
      expect(await ended(running)).toMatchObject({ kind: 'threw', error: { code: 'store_failed' } })
      expect(await node.rides()).toEqual([])
      expect(await recordIn(node)).toMatchObject({ state: 'in_progress' })
    })

    test('of a claim that was taken over throws, and its rows are gone', async () => {
      const node = await given()
      const takeOver = async () => {
        expect(await node.outside.fail(claim, failure)).toBe(true)
        await claimed(node.outside, { ...name, claimId: 'claim-2' })
      }
      if (tool.connections === 'one') await takeOver()
      const running = node.store.transaction(claim, async (tx) => {
        await node.ride(tx, 'one')
        if (tool.connections === 'many') await takeOver()
        return { value: 7, write: answer }
      })
      expect(await ended(running)).toMatchObject({ kind: 'threw', error: { code: 'claim_lost' } })
      expect(await node.rides()).toEqual([])
      expect(await recordIn(node)).toMatchObject({ state: 'in_progress', claimId: 'claim-2' })
    })

    test('is bounded by the server, and reads what is committed, whatever the role says', async () => {
      const node = await given({ url: `${url}?options=-c%20default_transaction_isolation%3Dserializable` })
      await node.store.transaction(claim, async (tx) => {
        expect(await node.ask(tx, 'SHOW transaction_isolation')).toBe('read committed')
        expect(await node.ask(tx, 'SHOW statement_timeout')).toBe('5s')
        expect(await node.ask(tx, 'SHOW idle_in_transaction_session_timeout')).toBe('5s')
        return { value: 7, write: answer }
      })
    })

    test('says whose records it is about, where the database asks', async () => {
      const node = await given({ options: { rowSecurity: 'scope' } })
      await node.store.transaction(claim, async (tx) => {
        expect(await node.ask(tx, `SELECT current_setting('hapax.scope')`)).toBe(name.scope)
        return { value: 7, write: answer }
      })
    })

    test('that somebody else opened is spoken on, and its values are as PostgreSQL spells them', async () => {
      const { handle } = await given()
      const gives = ['yes', 'float', 'none', 'text', 'bytes', 'json', 'number']
      const text = `SELECT true, 0.1::float8, NULL::text, 'a "b" ?', $1::bytea, '[1]'::jsonb, $2::bigint`
      const rows = await begins(handle)((tx) => spoken(tx).query({ text, gives }, [Buffer.from([0, 255]), 2 ** 40]))
      expect(rows).toEqual([
        { yes: 't', float: '0.1', none: null, text: 'a "b" ?', bytes: '\\x00ff', json: '[1]', number: '1099511627776' },
      ])
    })

    // With a single connection there is nothing to lose, and nobody to see it.
    if (tool.connections === 'many') declareLosses()

    function declareLosses(): void {
      const wired = async () => {
        const wire = await postgresWire(url)
        onTestFinished(() => wire.close())
        return { wire, node: await given({ url: wire.url }) }
      }
      const commit = (node: ToolNode<Tx>) =>
        node.store.transaction(claim, async (tx) => {
          await node.ride(tx, 'one')
          return { value: 7, write: answer }
        })
      const nothingIsThere = async (node: ToolNode<Tx>) => {
        expect(await node.rides()).toEqual([])
        expect(await recordIn(node)).toMatchObject({ state: 'in_progress', recoveryPoint: 'started' })
      }

      test.each(['and its handler says no more', 'and its handler goes on'] as const)(
        'whose connection is killed %s is reported, and nothing is half there',
        async (how) => {
          const node = await given()
          const over = gate()
          const running = node.store.transaction(claim, async (tx) => {
            await node.ride(tx, 'one')
            const pid = await node.ask(tx, 'SELECT pg_backend_pid()')
            await bench.owner.query('SELECT pg_terminate_backend($1, 5000)', [pid])
            // By then this side has heard of it, too.
            await bench.owner.query('SELECT 1')
            if (how === 'and its handler goes on')
              for (const ride of ['two', 'three']) await node.ride(tx, ride).catch(() => undefined)
            over.open()
            return { value: 7, write: answer }
          })
          expect(await ended(running)).toMatchObject({ kind: 'threw', error: { code: 'store_failed' } })
          await bounded(over.opened, 'the handler to end')
          await nothingIsThere(node)
        },
      )

      test('whose COMMIT is not answered is answered as committed, because the record says so', async () => {
        const { wire, node } = await wired()
        wire.rule(({ word }) => (word === 'COMMIT' ? 'cut after' : 'pass'))
        expect(await ended(commit(node))).toMatchObject({ kind: 'answered', answer: { value: 7 } })
        expect(await node.rides()).toEqual(['one'])
        expect(await recordIn(node)).toMatchObject({ state: 'completed' })
      })

      test('whose COMMIT never reaches the server throws, and nothing is half there', async () => {
        const { wire, node } = await wired()
        wire.rule(({ word }) => (word === 'COMMIT' ? 'cut before' : 'pass'))
        expect(await ended(commit(node))).toMatchObject({ kind: 'threw', error: { code: 'store_failed' } })
        await nothingIsThere(node)
      })

      test('whose COMMIT a constraint refuses throws, and nothing is half there', async () => {
        const node = await given()
        await bench.owner.query(
          `ALTER TABLE ${bench.schema}.rides ADD CONSTRAINT once UNIQUE (name) DEFERRABLE INITIALLY DEFERRED`,
        )
        onTestFinished(
          async () => void (await bench.owner.query(`ALTER TABLE ${bench.schema}.rides DROP CONSTRAINT once`)),
        )
        const running = node.store.transaction(claim, async (tx) => {
          for (const ride of ['one', 'one'])
            await node.ask(tx, `INSERT INTO ${bench.schema}.rides VALUES ('${ride}') RETURNING 1`)
          return { value: 7, write: answer }
        })
        expect(await ended(running)).toMatchObject({ kind: 'threw', error: { code: '23505' } })
        await nothingIsThere(node)
      })

      test('that a statement nobody waited for spoils behind its last write is not taken for committed', async () => {
        const { wire, node } = await wired()
        const last = gate()
        wire.rule(({ text }) => {
          if (text.includes('UPDATE')) last.open()
          return 'pass'
        })
        const running = node.store.transaction(claim, async (tx) => {
          await node.ride(tx, 'one')
          void last.opened.then(() => node.ask(tx, 'SELECT 1 / 0')).catch(() => undefined)
          return { value: 7, write: answer }
        })
        expect(await ended(running)).toMatchObject({ kind: 'threw', error: { code: 'transaction_ended' } })
        await nothingIsThere(node)
      })

      test('that gets no connection in time gives up, and its handler does not run later', async () => {
        const node = await given({ options: { statementTimeout: '300ms' } })
        const begin = begins(node.handle)
        /** Has all connections of the tool at once. */
        const hold = async () => {
          const release = gate()
          const taken = Array.from({ length: connectionsOfTool }, () => gate())
          const holders = taken.map(({ open }) =>
            begin(() => {
              open()
              return release.opened
            }),
          )
          await bounded(Promise.all(taken.map(({ opened }) => opened)), 'all connections to be taken')
          return async () => {
            release.open()
            await Promise.all(holders)
          }
        }
        const release = await hold()
        let runs = 0
        const running = node.store.transaction(claim, async () => {
          runs += 1
          return { value: 7, write: answer }
        })
        expect(await ended(running)).toMatchObject({ kind: 'threw', error: { code: 'store_busy' } })
        await release()
        // Whoever came late had its turn by then.
        const releaseAgain = await hold()
        await releaseAgain()
        expect(runs).toBe(0)
        await nothingIsThere(node)
      })
    }
  })
}
