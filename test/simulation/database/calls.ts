import type { CallStore } from '../../../src/engine/call-store.js'
import { copyOfRecord, copyOfTestimony } from '../../../src/engine/copies.js'
import { boundedLimit } from '../../../src/engine/limit.js'
import { limits } from '../../../src/kernel/limits.js'
import { testifying } from './call-deeds.js'
import { ownTestimony } from './copies.js'
import { addressOf } from './database.js'
import type { Line } from './line.js'
import { allSeen, seen } from './table.js'

/** The calls of handlers, and what was said about them: every method is one statement. */
export function simulatedCalls(line: Line): CallStore {
  const { records, calls, testimonies } = line.database.tables
  return {
    find: (key) =>
      line.ask({
        words: () => `looks for call ${key}`,
        run() {
          const kept = seen(calls, key, undefined)
          if (kept === undefined) return undefined
          const record = seen(records, addressOf(kept.name), undefined)?.record
          const isSame = record !== undefined && record.id === kept.recordId
          return { call: { ...kept.call }, record: isSame ? copyOfRecord(record) : undefined }
        },
      }),
    async list({ limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const found = await line.ask({
        words: () => 'lists calls',
        run: () =>
          allSeen(calls, undefined)
            .map(({ call }) => ({ ...call }))
            .filter(({ id }) => id > Number(after ?? 0))
            .sort((a, b) => a.id - b.id)
            .slice(0, size + 1),
      })
      const page = found.slice(0, size)
      return { calls: page, next: found.length > size ? String(page.at(-1)?.id) : undefined }
    },
    testify(testimony) {
      const words = () => `testifies that ${testimony.downstreamKey} ${testimony.says}`
      return line.ask({ words, ...testifying(line, [ownTestimony(testimony)], undefined) })
    },
    async testimonies(keys) {
      const said = await line.ask({
        words: () => `reads what was said about ${keys}`,
        run: () => allSeen(testimonies, undefined).filter(({ downstreamKey }) => keys.includes(downstreamKey)),
      })
      return said.map(copyOfTestimony)
    },
  }
}
