import {
  type Engine,
  type EngineOptions,
  type EventName,
  engine,
  keyOf,
  type LogEntry,
  type Policy,
  type PolicyOptions,
  type Store,
  type StoredRecord,
  scopeOf,
} from 'hapax'
import { memoryStore } from 'hapax/memory'
import { type FaultyStore, faultyStore } from './faulty-store.js'
import { type ManualClock, manualClock } from './manual-clock.js'
import { toldNames } from './told.js'

/** An engine on a memory store whose time and faults are in the test's hand. */
export interface Bench {
  readonly clock: ManualClock
  readonly faults: FaultyStore
  readonly hapax: Engine<never>
  readonly events: EventName[]
  readonly logged: LogEntry[]
  /** Another process on the same store. */
  another(): Engine<never>
  policy(options?: Partial<PolicyOptions>): Policy
  record(key: string): Promise<StoredRecord | undefined>
}

export function bench(inner?: Store, options: Omit<EngineOptions<never>, 'store'> = {}): Bench {
  const clock = manualClock()
  const kept = inner ?? memoryStore({ clock })
  const faults = faultyStore(kept)
  const events: EventName[] = []
  const logged: LogEntry[] = []
  const another = () => {
    const made = engine({ ...options, store: faults.store, clock, log: (entry) => logged.push(entry) })
    for (const name of toldNames) made.on(name, () => events.push(name))
    return made
  }
  const hapax = another()
  return {
    clock,
    faults,
    hapax,
    events,
    logged,
    another,
    policy: (options = {}) => hapax.policy({ name: 'payments.create', ...options }),
    record: (key) => kept.find({ scope: scopeOf('acme'), key: keyOf(key) }),
  }
}
