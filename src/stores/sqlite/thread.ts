import { Worker } from 'node:worker_threads'
import type { Clock } from '../../kernel/clock.js'
import { HapaxError } from '../../kernel/errors.js'
import { errorOf } from './faults.js'
import { type Gate, gateOn } from './gate.js'
import { sqliteBounds } from './bounds.js'
import type { Reply, Request, ServiceName, Services, ThreadSettings } from './protocol.js'

/** The store's side of its thread: asks, hears of its death, and starts another one for whoever asks next. */
export interface Thread {
  /** Rejects when there is no answer within the bound; then the thread is given up, for it may be hung. */
  ask<K extends ServiceName>(boundMs: number, service: K, ...args: Parameters<Services[K]>): Promise<ReturnType<Services[K]>>
  /** Lets go of the database and waits for the thread to end. */
  end(boundMs: number): Promise<void>
  /** For tests: the thread dies, of what it is doing no answer comes, and its connection is lost. */
  cut(): void
}

export function sqliteThread(settings: Omit<ThreadSettings, 'missing'>, clock: Clock): Thread {
  let missing: ThreadSettings['missing'] = settings.migrate === 'never' ? 'refuse' : 'create'
  let running: Running | undefined
  let lastId = 0

  const start = (): Running => {
    const gate = gateOn()
    const worker = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: { gate: gate.shared, settings: { ...settings, missing } },
    })
    const started: Running = { worker, gate, pending: new Map() }
    openGates.add(gate)
    worker.unref()
    worker.on('message', (reply: Reply) => settle(started, reply))
    worker.on('error', (error) => giveUp(started, `The database thread failed: ${error.message}`))
    worker.on('exit', () => giveUp(started, 'The database thread ended'))
    return started
  }

  const settle = (thread: Running, reply: Reply) => {
    const asked = thread.pending.get(reply.id)
    if (asked === undefined) return
    forget(thread, reply.id)
    if (reply.kind === 'failed') return asked.reject(errorOf(reply.fault))
    missing = 'refuse'
    asked.resolve(reply.value)
  }

  const giveUp = (thread: Running, why: string) => {
    if (running === thread) running = undefined
    openGates.delete(thread.gate)
    thread.gate.close()
    for (const [id, asked] of thread.pending) {
      forget(thread, id)
      asked.reject(new HapaxError('store_failed', `${why} before it answered; what it was asked may have happened. Try again.`))
    }
  }

  return {
    ask(boundMs, service, ...args) {
      running ??= start()
      const thread = running
      const id = ++lastId
      return new Promise((resolve, reject) => {
        const cancel = clock.after(boundMs, () => giveUp(thread, `The database thread was silent for ${boundMs} ms`))
        thread.pending.set(id, { resolve: (value) => resolve(value as ReturnType<Services[typeof service]>), reject, cancel })
        thread.worker.ref()
        const request: Request<typeof service> = { id, service, args }
        thread.worker.postMessage(request)
      })
    },
    ...
  }
}
