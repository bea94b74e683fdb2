import { systemClock } from 'hapax'
import type { StoreHarness } from 'hapax/conformance'
import { memoryStore } from 'hapax/memory'

export const memoryHarness: StoreHarness = {
  name: 'memory',
  lacks: {
    transactions: 'a map cannot roll back rows of the application',
    cut: 'a map has no connection that could be cut',
    single: 'a map cannot roll back rows of the application',
    effects: 'an effect in memory would be lost with its process',
    inbox: 'an event in memory would be processed anew by the next process',
  },
  async fresh() {
    let now = 0
    const store = memoryStore({ clock: { ...systemClock, now: () => now } })
    return {
      // Nobody outside of this process sees a map, so every node of it is the same one.
      open: async () => store,
      async setTime(ms) {
        now = ms
      },
      async dispose() {},
    }
  },
}
