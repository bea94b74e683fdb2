import { HapaxError, type Store } from 'hapax'

/** What goes wrong at one step: refused before it happens, its reply lost or late after it happened, or it hangs. */
export type Fault = 'before' | 'after' | 'late' | 'hangs' | 'busy'

type Method = (...args: never[]) => Promise<unknown>

export interface FaultyStore {
  readonly store: Store
  /** How often each step was asked for. */
  readonly asked: Map<string, number>
  /** Lets the next `times` calls of a step go wrong. */
  breakAt(step: keyof Store, fault: Fault, times?: number): void
  /** Lets everything go well again, what hangs included. */
  mend(): void
}

/** A real store behind a connection that fails on demand. */
export function faultyStore(inner: Store): FaultyStore {
  const broken = new Map<string, { fault: Fault; times: number }>()
  const asked = new Map<string, number>()
  let release: (() => void)[] = []

  async function pass(step: string, call: () => Promise<unknown>): Promise<unknown> {
    asked.set(step, (asked.get(step) ?? 0) + 1)
    const plan = broken.get(step)
    if (plan === undefined || plan.times === 0) return call()
    plan.times--
    switch (plan.fault) {
      case 'before':
        throw new HapaxError('store_failed', 'the connection was refused')
      case 'after':
        await call()
        throw new HapaxError('store_failed', 'the connection was cut')
      case 'busy':
        throw new HapaxError('store_busy', 'another process holds the lock')
      case 'late': {
        const reply = await call()
        await new Promise<void>((resolve) => release.push(resolve))
        return reply
      }
      case 'hangs':
        await new Promise<void>((resolve) => release.push(resolve))
        return call()
    }
  }

  const store = Object.fromEntries(
    Object.entries(inner).map(([name, value]) => [
      name,
      typeof value === 'function' ? (...args: never[]) => pass(name, () => (value as Method)(...args)) : value,
    ]),
  ) as unknown as Store

  return {
    store,
    asked,
    breakAt: (step, fault, times = Number.POSITIVE_INFINITY) => void broken.set(step, { fault, times }),
    mend() {
      broken.clear()
      for (const go of release) go()
      release = []
    },
  }
}
