import type { StoredRecord } from '../../../src/engine/record.js'
import { type KeyLives, keyLives } from './lives.js'
import { type Retention, retention } from './retention.js'
import { type SentAway, sentAway } from './sent-away.js'

/** What the judges remember from one step to the next, beside what is there. */
export interface Memory {
  /** By downstream key, how often an effect was found not to have landed. */
  readonly notLanded: Map<string, number>
  /** By downstream key, what was first asked for under it. */
  readonly subjects: Map<string, string>
  /** Answers whose time was over, and that were buried since, or their keys used anew: whoever came before may still send one. */
  readonly overtaken: { readonly record: StoredRecord; readonly at: number }[]
  /** By downstream key, since when it is on record that it has landed. */
  readonly landed: Map<string, number>
  /** What each claim found, by its id. */
  readonly found: Map<string, StoredRecord | undefined>
  /** Of each claim that was given while somebody waited for it, its generation. */
  readonly given: Map<string, number>
  readonly lives: KeyLives
  readonly kept: Retention
  readonly away: SentAway
}

export function newMemory(): Memory {
  return {
    notLanded: new Map(),
    subjects: new Map(),
    overtaken: [],
    landed: new Map(),
    found: new Map(),
    given: new Map(),
    lives: keyLives(),
    kept: retention(),
    away: sentAway(),
  }
}

/** All that later judgements depend on, in short. What was asked for under a key is known from who asked. */
export function digestOf({
  notLanded,
  overtaken,
  landed,
  found,
  given,
  lives,
  kept,
  away,
}: Memory): readonly unknown[] {
  const claims = [...found].map(([id, record]) => [id, record?.state, record?.fence])
  const gone = overtaken.map(({ record, at }) => [record.scope, record.key, record.generation, at])
  return [[...notLanded], claims.sort(), gone, [...landed], [...given].sort(), kept, lives, away]
}
