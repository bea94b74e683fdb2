import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type DeadLetterOptions,
  type DeadLetters,
  deadLetters,
  type EffectDefinition,
  type EffectReconciler,
  type EffectReconcilerOptions,
  type EffectStore,
  type EffectWorker,
  type EffectWorkerOptions,
  type EventName,
  type Events,
  effectReconciler,
  effects,
  effectWorker,
  eventNames,
  type Fingerprint,
  keyOf,
  type LogEntry,
  type NewEffect,
  type Store,
  type StoredEffect,
  scopeOf,
} from 'hapax'
import { type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import { emitter } from '../../src/kernel/events.js'
import { pinSqliteClock } from '../../src/stores/sqlite/testing.js'
import { type ManualClock, manualClock } from '../support/manual-clock.js'

/** An outbox in a real file, whose time is in the test's hand on both sides: the store's and the worker's. */
export interface Given {
  readonly store: EffectStore<SqliteTransaction>
  readonly whole: Store<SqliteTransaction>
  readonly clock: ManualClock
  readonly heard: { readonly name: EventName; readonly event: Events[EventName] }[]
  readonly logged: LogEntry[]
  /** Names of the events so far. */
  names(): EventName[]
  /** Writes effects as a phase does, and gives their ids. */
  write(...effects: readonly Partial<NewEffect>[]): Promise<readonly number[]>
  worker(definition: Definition, options?: WorkerOptions): EffectWorker
  workerOf(definitions: Record<string, Definition>, options?: WorkerOptions): EffectWorker
  reconciler(definition: Definition, calls?: EffectReconcilerOptions<SqliteTransaction>['calls']): EffectReconciler
  reconcilerOf(
    definitions: Record<string, Definition>,
    calls?: EffectReconcilerOptions<SqliteTransaction>['calls'],
  ): EffectReconciler
  deadLetters(definition: Definition, calls?: DeadLetterOptions<SqliteTransaction>['calls']): DeadLetters
  /** Moves the time of both sides. */
  advance(ms: number): Promise<void>
  /** Sets the clock of the store alone, so far ahead of ours. */
  jump(ms: number): Promise<void>
  effect(id: number): Promise<StoredEffect>
  close(): Promise<void>
}

export type Definition = EffectDefinition<unknown, unknown, SqliteTransaction>
type WorkerOptions = Partial<Omit<EffectWorkerOptions<SqliteTransaction>, 'effects'>>

export const kind = 'escrow.create'
const startAt = 1_700_000_000_000

export async function given(): Promise<Given> {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-effects-'))
  const path = join(folder, 'outbox.db')
  const whole = sqliteStore({ path })
  await whole.open()
  await pinSqliteClock(path, startAt)
  const store = whole.effects
  if (store === undefined) throw new Error('the store has no outbox')
  const clock = manualClock(startAt)
  const logged: LogEntry[] = []
  const log = (entry: LogEntry) => logged.push(entry)
  const events = emitter(log)
  const heard: { name: EventName; event: Events[EventName] }[] = []
  for (const name of eventNames) events.on(name, (event) => heard.push({ name, event }))
  // Half of the longest pause each time.
  const chance = { fraction: () => 0.5, id: () => 'chance' }
  const around = { store, clock, chance, log, events }

  const workerOf = (definitions: Record<string, Definition>, options: WorkerOptions = {}) =>
    effectWorker<SqliteTransaction>({ ...around, effects: effects(definitions), ...options })
  const reconcilerOf: Given['reconcilerOf'] = (definitions, calls) =>
    effectReconciler<SqliteTransaction>({ ...around, effects: effects(definitions), ...(calls && { calls }) })
  return {
    store,
    whole,
    clock,
    heard,
    logged,
    names: () => heard.map(({ name }) => name),
    write: (...wanted) => writeEffects(whole, wanted),
    workerOf,
    worker: (definition, options) => workerOf({ [kind]: definition }, options),
    reconciler: (definition, calls) => reconcilerOf({ [kind]: definition }, calls),
    reconcilerOf,
    deadLetters: (definition, calls) =>
      deadLetters<SqliteTransaction>({ ...around, effects: effects({ [kind]: definition }), ...(calls && { calls }) }),
    async advance(ms) {
      await pinSqliteClock(path, clock.now() + ms)
      await clock.advance(ms)
    },
    jump: (ms) => pinSqliteClock(path, clock.now() + ms),
    async effect(id) {
      const found = await store.find(id)
      if (found === undefined) throw new Error(`there is no effect ${id}`)
      return found
    },
    async close() {
      await whole.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

let lastKey = 0

/** One record whose only phase commits with these effects. */
export async function writeEffects<Tx>(
  store: Store<Tx>,
  wanted: readonly Partial<NewEffect>[],
  how: 'found' | 'blindly' = 'found',
): Promise<readonly number[]> {
  const key = `k-${process.pid}-${++lastKey}`
  const verdict = await store.reserve({
    scope: scopeOf('acme'),
    key: keyOf(key),
    claimId: key,
    operation: 'orders.create',
    fingerprints: ['sha256-v1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' as Fingerprint],
    onLeaseOver: 'doubt',
    onExpired: 'run',
    onNew: 'take',
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    tombstoneMs: 86_400_000,
  })
  if (verdict.kind !== 'reserved' || store.transaction === undefined) throw new Error(`the key is ${verdict.kind}`)
  const written = wanted.map((effect, index) => ({
    kind,
    payload: new TextEncoder().encode('{"order":"o-1"}'),
    downstreamKey: `dk-${key}-${index + 1}`,
    phase: 'ordered',
    sequence: index + 1,
    order: undefined,
    dueInMs: 0,
    ...effect,
  }))
  const answer = { kind: 'kept', status: 201, headers: [], body: new Uint8Array() } as const
  await store.transaction(verdict.claim, async () => ({
    value: undefined,
    write: { kind: 'complete', answer, answerVersion: 1 },
    effects: written,
  }))
  if (how === 'blindly') return []
  const found = await Promise.all(written.map(({ downstreamKey }) => store.effects?.findByKey(downstreamKey)))
  return found.map((effect) => effect?.id ?? Number.NaN)
}

/** A call that says what it was given, and answers or fails as told. */
export function provider(...script: readonly (unknown | Error)[]) {
  const keys: string[] = []
  return {
    keys,
    get count() {
      return keys.length
    },
    call: async ({ key }: { readonly key: string }): Promise<unknown> => {
      const said = script[Math.min(keys.push(key) - 1, script.length - 1)]
      if (said instanceof Error) throw said
      return said
    },
  }
}

export function failure(code: string): Error {
  return Object.assign(new Error(`it failed: ${code}`), { code })
}
