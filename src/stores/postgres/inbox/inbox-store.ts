import type { InboxStore, Receipt } from '../../../engine/inbox-store.js'
import { boundedLimit } from '../../../engine/limit.js'
import { passing } from '../../../kernel/crash-points.js'
import { limits } from '../../../kernel/limits.js'
import { ofTestimonies, type TestimonyQueries } from '../calls/testimony-queries.js'
import type { Connections } from '../connections.js'
import { type Execute, everyScope, type RowSecurity, sessionExecutor } from '../executor.js'
import { inOneCommit } from '../in-one-commit.js'
import type { InboxQueries } from './inbox-queries.js'

interface Surroundings<Tx> {
  readonly queries: InboxQueries & TestimonyQueries
  readonly execute: Execute
  readonly rowSecurity: RowSecurity
  readonly statementTimeoutMs: number
  /** Where the application writes what follows from an event. */
  readonly phases: Pick<Connections<Tx>, 'transaction'>
}

/**
 * The inbox. A COMMIT whose reply was lost is an error: the provider delivers again, and is told that it was a duplicate if
 * it was one.
 */
export function postgresInbox<Tx>(surroundings: Surroundings<Tx>): InboxStore<Tx> {
  const { queries, execute, rowSecurity, statementTimeoutMs, phases } = surroundings
  const waitMs = Math.ceil(statementTimeoutMs / 2)
  return {
    receive: ({ provider, eventId }, body) =>
      inOneCommit(phases, async ({ query, said }): Promise<{ readonly value: Receipt<Value<typeof body>> }> => {
        await query(queries.patience, [`${waitMs}ms`])
        const inserted = await query(queries.insert, [provider, eventId])
        if (inserted.length === 0) return { value: { kind: 'duplicate' } }
        await query(queries.usualPatience, [])
        const { value, testimonies } = await said(body)
        if (testimonies.length > 0) {
          const testify = await sessionExecutor(query, rowSecurity, everyScope)
          await testify(everyScope, queries.testify, ofTestimonies(testimonies))
        }
        passing('inbox.inserted')
        return { value: { kind: 'processed', value } }
      }),
    reap: async (limit, keepMs) =>
      (await execute(everyScope, queries.reap, [boundedLimit(limit, limits.batch), keepMs])).length,
  }
}

/** What the work on an event comes to. */
type Value<Body> = Body extends (tx: never) => Promise<{ readonly value: infer T }> ? T : never
