import { afterOf, type CallPlace, placeAfter } from '../../../src/engine/call-place.js'
import type { CallStore } from '../../../src/engine/call-store.js'
import { copyOfRecord, copyOfTestimony } from '../../../src/engine/copies.js'
import { boundedLimit } from '../../../src/engine/limit.js'
import { limits } from '../../../src/kernel/limits.js'
import { testifying } from './call-deeds.js'
import { ownTestimony } from './copies.js'
import { addressOf } from './database.js'
import { reapTestimonies } from './forgetting.js'
import type { Line } from './line.js'
import { allSeen, seen } from './table.js'

/** The calls of handlers, and what was said about them: every method is one statement. */
export function simulatedCalls(line: Line): CallStore {
  const { records, calls, testimonies } = line.database.tables
  return {
    find: (key) =>
      line.ask(
        () => `looks for the call of ${key}`,
        {
          run() {
            const kept = seen(calls, key, undefined)
            if (kept === undefined) return undefined
            const record = seen(records, addressOf(kept.name), undefined)?.record
            const isSame = record !== undefined && record.id === kept.recordId
            return { call: { ...kept.call }, record: isSame ? copyOfRecord(record) : undefined }
          },
        },
        'read',
      ),
    async list({ since, until, record, limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const from = after === undefined ? undefined : placeAfter(after)
      const listed = {
        run: () =>
          allSeen(calls, undefined)
            .filter(({ recordId }) => record === undefined || recordId === record)
            .map(({ call }) => ({ ...call }))
            .filter(({ begunAt }) => begunAt >= (since ?? begunAt) && (until === undefined || begunAt < until))
            .filter((call) => from === undefined || byBeginning(call, from) > 0)
            .sort(byBeginning)
            .slice(0, size + 1),
      }
      const found = await line.ask(() => 'lists calls', listed, 'read')
      const page = found.slice(0, size)
      return { calls: page, next: found.length > size ? afterOf(page) : undefined }
    },
    named: (keys) =>
      line.ask(
        () => `reads calls ${keys}`,
        { run: () => keys.flatMap((key) => seen(calls, key, undefined)?.call ?? []).map((call) => ({ ...call })) },
        'read',
      ),
    testify(testimony) {
      const words = () => `testifies that ${testimony.downstreamKey} ${testimony.says}`
      // That a word comes when it is not true any more is a limit, which the page of what can be relied on names.
      return line.ask(words, testifying(line, [ownTestimony(testimony)], undefined), 'prompt')
    },
    async testimonies(keys) {
      const said = await line.ask(
        () => `reads what was said about ${keys}`,
        { run: () => allSeen(testimonies, undefined).filter(({ downstreamKey }) => keys.includes(downstreamKey)) },
        'read',
      )
      return said.map(copyOfTestimony)
    },
    async reap(limit, keepMs) {
      const bounded = boundedLimit(limit, limits.batch)
      return line.ask(() => `reaps up to ${bounded} testimonies`, {
        run: () => reapTestimonies(line, bounded, keepMs),
      })
    },
  }
}

function byBeginning(a: CallPlace, b: CallPlace): number {
  return a.begunAt - b.begunAt || a.id - b.id
}
