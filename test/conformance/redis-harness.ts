import { randomUUID } from 'node:crypto'
import type { Store } from 'hapax'
import type { StoreBench, StoreHarness } from 'hapax/conformance'
import { redisStore } from 'hapax/redis'
import { type RedisWire, redisWire } from '../support/redis-wire.js'
import type { RedisLibrary } from './redis-libraries.js'

/** A prefix of its own for each case, and a client of its own, on a wire that can be cut, for each node. */
export function redisHarness(library: RedisLibrary, port: () => number): StoreHarness {
  return {
    name: library.name,
    lacks: {
      transactions: 'Redis has no rows of the application to roll back',
      single: 'Redis has no rows of the application to roll back',
      effects: 'an effect in a store that may forget would be forgotten with it',
      inbox: 'an event in a store that may forget would be processed anew',
      ...(library.way === 'cluster' && { cut: 'a client of a cluster finds its servers by itself, past the wire' }),
    },
    fresh: async () => benchOn(library, port()),
  }
}

async function benchOn(library: RedisLibrary, port: number): Promise<StoreBench> {
  const prefix = `case-${randomUUID()}`
  const nodes = new Map<Store, { readonly wire: RedisWire; end(): void }>()
  const clock = await library.connect(port)
  return {
    async open() {
      const wire = await redisWire(port)
      const { client, end } = await library.connect(wire.port)
      const store = redisStore({ client, prefix })
      await store.open()
      nodes.set(store, { wire, end })
      return store
    },
    setTime: async (ms) => void (await clock.hset(`{${prefix}}`, 'pinnedAt', String(ms))),
    async dispose() {
      for (const { wire, end } of nodes.values()) {
        end()
        await wire.close()
      }
      clock.end()
    },
    cut: async (store) => nodes.get(store)?.wire.cut(),
  }
}
