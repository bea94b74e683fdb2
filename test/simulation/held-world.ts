import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { happens, type PortCall, type Ports } from './world/port-call.js'
import type { Process } from './world/process.js'

/** A world in which a test says what happens, by its words, and everything else waits. */
export interface HeldWorld {
  readonly ports: Ports
  time: number
  /** The words of all calls that are under way, those that cannot happen now marked. */
  underWay(): readonly string[]
  happen(words: string): Promise<void>
  /** It happens, and the caller is told that the line broke. */
  loseReply(words: string): Promise<void>
  /** It never happens, and the caller is told that the line broke. */
  loseRequest(words: string): Promise<void>
  /** The caller is told that the line broke, and it is still under way: it happens when the test says so. */
  drift(words: string): Promise<void>
  /** The server ends it, also while it waits. */
  cancel(words: string): Promise<void>
  /** It happens, and nobody is told. */
  happenUnheard(words: string): Promise<void>
  /** Lets everything happen that can, in order, until nothing can. */
  goOn(): Promise<void>
  crash(process: Process): void
}

interface Waiting {
  readonly call: Omit<PortCall<unknown>, 'digest'>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export function heldWorld(): HeldWorld {
  const waiting: Waiting[] = []
  const isReady = ({ call }: Waiting) => call.isReady?.() !== false

  /** Whoever still had something to say before has said it. */
  async function taken(words: string, must: 'be ready' | 'be under way'): Promise<Waiting> {
    await setImmediate()
    const index = waiting.findIndex(({ call }) => call.words() === words)
    const [found] = index === -1 ? [] : waiting.splice(index, 1)
    assert.ok(found !== undefined, `"${words}" is not under way, but: ${world.underWay().join('; ')}`)
    assert.ok(must === 'be under way' || isReady(found), `"${words}" waits`)
    return found
  }
  function brokenUnder({ call, reject }: Waiting): Promise<void> {
    reject(call.broken?.())
    return setImmediate()
  }

  const world: HeldWorld = {
    time: Date.UTC(2040, 1, 29, 12),
    ports: {
      now: () => world.time,
      call: <T>(call: PortCall<T>) =>
        new Promise<T>((resolve, reject) => {
          waiting.push({ call, resolve: resolve as Waiting['resolve'], reject })
        }),
    },
    underWay: () => waiting.map((one) => (isReady(one) ? one.call.words() : `${one.call.words()} (waits)`)),
    async happen(words) {
      const { call, resolve, reject } = await taken(words, 'be ready')
      happens(call, resolve, reject)
      await setImmediate()
    },
    async loseReply(words) {
      const lost = await taken(words, 'be ready')
      happens(lost.call, nobody, nobody)
      await brokenUnder(lost)
    },
    loseRequest: async (words) => brokenUnder(await taken(words, 'be under way')),
    async drift(words) {
      const { call, reject } = await taken(words, 'be under way')
      reject(call.adrift?.())
      waiting.push({ call, resolve: nobody, reject: nobody })
      await setImmediate()
    },
    async cancel(words) {
      const { call, resolve, reject } = await taken(words, 'be under way')
      assert.ok(call.isCancellable?.(), `"${words}" is not cancelled`)
      happens({ happen: () => call.cancel?.() }, resolve, reject)
      await setImmediate()
    },
    happenUnheard: async (words) => happens((await taken(words, 'be ready')).call, nobody, nobody),
    async goOn() {
      await setImmediate()
      for (let next = waiting.find(isReady); next !== undefined; next = waiting.find(isReady))
        await world.happen(next.call.words())
    },
    crash(process) {
      process.isAlive = false
      for (const notice of process.onCrash) notice()
    },
  }
  return world
}

/** Nobody waits for it. */
function nobody(): void {}
