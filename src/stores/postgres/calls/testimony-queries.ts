import type { Testimony } from '../../../engine/inbox-store.js'
import { arrayOf } from '../array.js'
import { milliseconds } from '../columns.js'
import type { Query } from '../connections.js'

/** What was said about calls: written with a webhook's event or by itself, many in one statement. */
export type TestimonyQueries = ReturnType<typeof testimonyQueriesFor>

export function testimonyQueriesFor(schema: string) {
  const testimonies = `${schema}.testimonies`
  return {
    testify: {
      text: `INSERT INTO ${testimonies} (downstream_key, says, result, said_by, why, said_at)
      SELECT downstream_key, says, result, said_by, why, now FROM (SELECT ${schema}.clock() AS now) t,
        unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::text[])
        WITH ORDINALITY AS asked(downstream_key, says, result, said_by, why, position) ORDER BY position`,
      gives: [],
    },
    testimonies: {
      text: `SELECT downstream_key, says, result, said_by, why, ${milliseconds('said_at')} FROM ${testimonies}
      WHERE downstream_key = ANY ($1::text[]) ORDER BY id`,
      gives: ['downstream_key', 'says', 'result', 'said_by', 'why', 'said_at'],
      plan: 'fresh',
    },
  } as const satisfies Record<string, Query>
}

export function ofTestimonies(testimonies: readonly Testimony[]): readonly string[] {
  return [
    testimonies.map(({ downstreamKey }) => downstreamKey),
    testimonies.map(({ says }) => says),
    testimonies.map(({ result }) => result ?? null),
    testimonies.map(({ by }) => by),
    testimonies.map(({ why }) => why),
  ].map(arrayOf)
}
