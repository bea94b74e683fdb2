import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { CrashPoint } from '../../../dist/kernel/crash-points.js'
import type { Ground, Table } from './grounds.js'
import type { Provider } from './provider-process.js'
import type { Survivor } from './survivor-process.js'

/** Whether the provider honours keys. The application says the truth about it. */
export type Keys = 'honoured' | 'forgotten'

/** What the provider does wrong: it ends the connection or answers 500 after it has charged, or charges nothing. */
export type Fault = 'drop' | 'error' | 'lose'

/** One thing that a process does. */
export type Step =
  | {
      readonly do:
        | 'ride'
        | 'book'
        | 'crowd'
        | 'sweep'
        | 'resume'
        | 'reconcile'
        | 'effects'
        | 'reconcile effects'
        | 'state'
    }
  | { readonly do: 'time'; readonly at: number }
  /** From here on the provider fails this process. */
  | { readonly do: 'fault'; readonly fault: Fault }
  | { readonly do: 'deliver'; readonly eventId: string; readonly event: object }

export interface Answer {
  readonly status: number
  readonly body: string
  readonly code?: string
  readonly replayed?: boolean
}

/** Where one scenario plays: its database, its part of the provider's ledger, and the processes that come and go. */
export interface Stage {
  readonly scope: string
  /** Runs these steps in a process that dies at the point. */
  dies(point: CrashPoint, ...steps: Step[]): Promise<void>
  /** Runs these steps in another process, with an application of its own, which lives to tell what came of them. */
  lives<Came extends unknown[]>(...steps: Step[]): Promise<Came>
  charges(): Promise<number>
  receipts(): Promise<number>
  /** What the provider has. */
  ledger: () => ReturnType<Provider['ledger']>
  rows(table: Table): Promise<number>
  records(): Promise<readonly string[]>
}

/** What the victim is told of its provider. */
export interface Surroundings {
  readonly keys: Keys
  readonly lookup?: 'none'
}

/**
 * When everything begins, on the clock of the database, which stands still there. No step of it is in the future: what is
 * said of a doubt counts when the clock of the process agrees.
 */
export const startedAt = Date.now() - 3_600_000

const program = fileURLToPath(new URL('../rides.mjs', import.meta.url))
const patienceMs = 25_000

/** What a scenario shares with the others of its file. */
export interface House {
  readonly provider: Provider
  readonly survivor: Survivor
}

export async function stageOn(ground: Ground, { provider, survivor }: House, given: Surroundings): Promise<Stage> {
  const scope = randomUUID()
  const job = { store: ground.store, provider: provider.url, scope, ...given }
  const ledger = () => provider.ledger(scope)
  await ground.setTime(startedAt)
  return {
    scope,
    async dies(point, ...steps) {
      const ending = await killed({ ...job, killAt: point, steps })
      expect(ending, `killed at ${point}`).toEqual({ code: null, signal: 'SIGKILL', said: '', complaint: '' })
      await ground.released()
    },
    lives: <Came extends unknown[]>(...steps: Step[]) => survivor.play<Came>({ ...job, steps }),
    ledger,
    charges: async () => (await ledger()).filter(({ what }) => what.charge !== undefined).length,
    receipts: async () => (await ledger()).filter(({ what }) => what.receipt !== undefined).length,
    rows: ground.rows,
    records: ground.records,
  }
}

/** How a victim ended. One that hangs is ended in another way than by its own hand. */
async function killed(job: object) {
  const child = spawn(process.execPath, [program, JSON.stringify(job)], { timeout: patienceMs, killSignal: 'SIGTERM' })
  const [[code, signal], said, complaint] = await Promise.all([
    once(child, 'close') as Promise<[number | null, string | null]>,
    text(child.stdout),
    text(child.stderr),
  ])
  return { code, signal, said, complaint }
}
