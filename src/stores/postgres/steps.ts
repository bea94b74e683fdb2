import type { CallMark } from '../../engine/call-store.js'
import { boundedLimit } from '../../engine/limit.js'
import type { RecordName, StoredRecord } from '../../engine/record.js'
import type { Store } from '../../engine/store.js'
import * as transitions from '../../engine/transitions.js'
import type { Verdict } from '../../engine/verdict.js'
import { HapaxError } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import type { Found } from './arguments.js'
import type { RecordTable } from './record-table.js'

/** All of them ask a server, so none answers at once. */
type Steps = {
  readonly [K in Exclude<keyof Store, OtherMembers>]: (
    ...args: Parameters<Store[K]>
  ) => Promise<Awaited<ReturnType<Store[K]>>>
}

type OtherMembers =
  | 'name'
  | 'grade'
  | 'open'
  | 'close'
  | 'transaction'
  | 'single'
  | 'calls'
  | 'effects'
  | 'inbox'
  | 'audit'
  | 'examine'
  | 'measure'
  | 'reapable'

/** What a step makes of a record: the next one and what to answer, or only an answer. */
interface Judgement<T> {
  readonly next?: StoredRecord | 'deleted' | undefined
  readonly answer: T
}

/**
 * Every step of the port on PostgreSQL. A new key is one INSERT that looks nothing up; a renewal or a completion is
 * one UPDATE whose conditions are the fence. All else reads the row, asks the transition, and writes only if the row
 * is still the one that was judged; a replay therefore locks and writes nothing.
 */
export function postgresSteps(records: Omit<RecordTable, 'lock'>): Steps {
  /** Whoever was overtaken judges again, on the row as it is now. */
  async function judged<T>(
    name: RecordName,
    judge: (current: StoredRecord | undefined, now: number) => Judgement<T>,
    first?: Found,
    call?: CallMark,
  ): Promise<T> {
    for (let attempt = 1; attempt <= limits.contention; attempt++) {
      const found = attempt === 1 && first !== undefined ? first : await records.find(name)
      const { next, answer } = judge(found?.record, found?.now ?? 0)
      if (found === undefined || next === undefined || next === found.record) return answer
      if (next === 'deleted' ? await records.remove(found) : await records.write(found, next, call)) return answer
    }
    throw new HapaxError('store_busy', 'Others kept changing this record; nothing happened. Try again.')
  }

  const written = (
    name: RecordName,
    step: (current: StoredRecord | undefined, now: number) => StoredRecord | 'deleted' | undefined,
    call?: CallMark,
  ) => {
    const judge = (current: StoredRecord | undefined, now: number) => {
      const next = step(current, now)
      return { next, answer: next !== undefined }
    }
    return judged(name, judge, undefined, call)
  }

  return {
    async reserve(reservation) {
      if (reservation.onNew === 'tell') {
        return judged(reservation, (current, now) => {
          const { verdict, next } = transitions.reserve(current, reservation, now, () => current?.id ?? 0)
          return { next, answer: verdict }
        })
      }
      for (let attempt = 1; attempt <= limits.contention; attempt++) {
        const inserted = await records.insert(reservation)
        if (inserted.kind === 'new')
          return transitions.reserve(undefined, reservation, inserted.now, () => inserted.id).verdict
        const judge = (current: StoredRecord | undefined, now: number): Judgement<Verdict | undefined> => {
          // Gone between the two statements: whoever held the key gave it back, so it is tried as new once more.
          if (current === undefined) return { answer: undefined }
          const { verdict, next } = transitions.reserve(current, reservation, now, () => current.id)
          return { next, answer: verdict }
        }
        const verdict = await judged(reservation, judge, inserted.found)
        if (verdict !== undefined) return verdict
      }
      throw new HapaxError('store_busy', 'The key was given back again and again; nothing happened. Try again.')
    },
    renew: (claim, leaseMs) => records.renew(claim, leaseMs),
    checkpoint: (claim, step) =>
      written(claim, (current, now) => transitions.checkpoint(current, claim, step, now), step.call),
    async complete(claim, completion) {
      const completed = await records.complete(claim, completion)
      if (completed !== undefined) return { expiresAt: completed.expiresAt }
      return judged(claim, (current, now) => {
        const next = transitions.complete(current, claim, completion, now)
        return { next, answer: next === undefined ? false : { expiresAt: next.expiresAt } }
      })
    },
    release: (claim) => written(claim, (current) => transitions.release(current, claim)),
    fail: (claim, failure) => written(claim, (current, now) => transitions.fail(current, claim, failure, now)),
    doubt: (claim, reason) => written(claim, (current, now) => transitions.doubt(current, claim, reason, now)),
    settle: (name, settlement) =>
      written(name, (current, now) => transitions.settle(current, settlement, now), settlement.call),
    sweep: async (limit) => records.sweep(boundedLimit(limit, limits.batch)),
    abandon: async (query) => records.abandon({ ...query, limit: boundedLimit(query.limit, limits.batch) }),
    interrupted: async (query) => records.interrupted({ ...query, limit: boundedLimit(query.limit, limits.batch) }),
    doubts: async (query) => records.doubts({ ...query, limit: boundedLimit(query.limit, limits.batch) }),
    postpone: (name, plan) => written(name, (current, now) => transitions.postpone(current, plan, now)),
    async reap(limit) {
      const bounded = boundedLimit(limit, limits.batch)
      const deleted = await records.forget(bounded)
      return { buried: await records.bury(bounded), deleted }
    },
    find: (name) => records.find(name).then((found) => found?.record),
    list: async (query) => records.list({ ...query, limit: boundedLimit(query.limit, limits.page) }),
    tenants: async (query) => records.tenants({ ...query, limit: boundedLimit(query.limit, limits.page) }),
    usage: async (tenant, atMost) => records.usage(tenant, boundedLimit(atMost, limits.countedKeys)),
  }
}
