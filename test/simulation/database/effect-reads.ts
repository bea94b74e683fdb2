import type { EffectStore, StoredEffect } from '../../../src/engine/effect-store.js'
import { boundedLimit } from '../../../src/engine/limit.js'
import { effectPlace, placeAfter } from '../../../src/engine/listing.js'
import { tenantOf } from '../../../src/engine/tenant.js'
import { limits } from '../../../src/kernel/limits.js'
import { copyOfEffect } from './copies.js'
import type { Line } from './line.js'
import { allSeen, seen } from './table.js'

type Reads = Pick<EffectStore<never>, 'find' | 'findByKey' | 'list' | 'done' | 'named'>

/** What only looks at effects. */
export function effectReads(line: Line): Reads {
  const { effects, effectKeys } = line.database.tables
  const found = async (words: () => string, run: () => StoredEffect | undefined) => {
    const effect = await line.ask(words, { run }, 'read')
    return effect && copyOfEffect(effect)
  }
  const given = async (words: () => string, run: () => readonly StoredEffect[]) =>
    (await line.ask(words, { run }, 'read')).map(copyOfEffect)

  return {
    find: (id) =>
      found(
        () => `reads effect ${id}`,
        () => seen(effects, id, undefined),
      ),
    findByKey: (key) =>
      found(
        () => `reads effect ${key}`,
        () => {
          const id = seen(effectKeys, key, undefined)
          return id === undefined ? undefined : seen(effects, id, undefined)
        },
      ),
    async list({ state, kind, record, tenant, after, limit }) {
      const size = boundedLimit(limit, limits.page)
      const place = after === undefined ? undefined : placeAfter(tenant === undefined ? 'all' : 'tenant', after)
      const begin = place && { scope: String(place.by), id: place.id }
      const byPlace = (a: { scope: string; id: number }, b: { scope: string; id: number }) =>
        tenant === undefined || a.scope === b.scope ? a.id - b.id : a.scope < b.scope ? -1 : 1
      const listed = await given(
        () => 'lists effects',
        () =>
          allSeen(effects, undefined)
            .filter((effect) => begin === undefined || byPlace(effect, begin) > 0)
            .filter((effect) => tenant === undefined || tenantOf(effect.scope) === tenant)
            .filter((effect) => state === undefined || effect.state === state)
            .filter((effect) => kind === undefined || effect.kind === kind)
            .filter((effect) => record === undefined || effect.recordId === record)
            .sort(byPlace)
            .slice(0, size + 1),
      )
      const page = listed.slice(0, size)
      const last = listed.length > size ? page.at(-1) : undefined
      return { effects: page, next: last && effectPlace(last, { ...(tenant !== undefined && { tenant }) }) }
    },
    async done({ since, limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const from = after?.split(' ').map(Number) ?? []
      const found = await given(
        () => 'lists effects that are done',
        () =>
          allSeen(effects, undefined)
            .filter(({ state, finishedAt = 0 }) => state === 'done' && finishedAt >= since)
            .sort(byEnd)
            .filter((effect) => after === undefined || byEnd(effect, { finishedAt: from[0], id: from[1] ?? 0 }) > 0)
            .slice(0, size + 1),
      )
      const page = found.slice(0, size)
      const last = page.at(-1)
      return { effects: page, next: found.length > size ? `${last?.finishedAt} ${last?.id}` : undefined }
    },
    named: (keys) =>
      given(
        () => `reads effects ${keys}`,
        () => allSeen(effects, undefined).filter(({ downstreamKey }) => keys.includes(downstreamKey)),
      ),
  }
}

function byEnd(a: Ended, b: Ended): number {
  return (a.finishedAt ?? 0) - (b.finishedAt ?? 0) || a.id - b.id
}

type Ended = Pick<StoredEffect, 'finishedAt' | 'id'>
