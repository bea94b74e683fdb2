import { Worker } from 'node:worker_threads'
import type { Clock } from '../../kernel/clock.js'
import { HapaxError } from '../../kernel/errors.js'
import { guardExit } from './exit-guard.js'
import { errorOf } from './faults.js'
import { type Gate, gateOn } from './gate.js'
import type { Reply, Request, ServiceName, Services, ThreadSettings } from './protocol.js'

/** The store's side of one thread, from its start to its end. */
export interface Thread {
  /** Rejects when no answer comes within the bound; the thread may be hung then, and is given up. */
  ask<K extends ServiceName>(boundMs: number, service: K, ...args: Parameters<Services[K]>): Promise<Answered<K>>
  /** The thread leaves before its next request, or after the one under way, and answers nothing any more. */
  cut(): void
  /** Resolves when the thread is gone. */
  readonly ended: Promise<void>
}

type Answered<K extends ServiceName> = ReturnType<Services[K]>

interface Asked {
  resolve(value: unknown): void
  reject(error: Error): void
  cancelBound(): void
}

/** `onGivenUp` is called as soon as there is no use in asking this thread any more. */
export function startThread(settings: ThreadSettings, clock: Clock, onGivenUp: () => void): Thread {
  const gate: Gate = gateOn()
  const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: { gate: gate.shared, settings } })
  const asked = new Map<number, Asked>()
  const unguardExit = guardExit(gate)
  let lastId = 0

  /** A thread that is asked nothing does not keep the process alive. */
  const take = (id: number): Asked | undefined => {
    const found = asked.get(id)
    found?.cancelBound()
    asked.delete(id)
    if (asked.size === 0) worker.unref()
    return found
  }

  const giveUp = (why: string) => {
    gate.close()
    onGivenUp()
    for (const id of asked.keys()) {
      take(id)?.reject(new HapaxError('store_failed', `${why}. What it was asked may have happened; ask again.`))
    }
  }

  worker.on('message', (reply: Reply) => {
    if (reply.kind === 'done') take(reply.id)?.resolve(reply.value)
    else take(reply.id)?.reject(errorOf(reply.fault))
  })
  worker.on('error', (error) => giveUp(`The thread of the database failed (${error.message})`))
  const ended = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      unguardExit()
      giveUp('The thread of the database ended before it answered')
      resolve()
    })
  })

  return {
    ask: <K extends ServiceName>(boundMs: number, service: K, ...args: Parameters<Services[K]>) =>
      new Promise<Answered<K>>((resolve, reject) => {
        const request: Request<K> = { id: ++lastId, service, args }
        const cancelBound = clock.after(boundMs, () => giveUp(`The database gave no answer within ${boundMs} ms`))
        asked.set(request.id, { resolve: (value) => resolve(value as Answered<K>), reject, cancelBound })
        worker.ref()
        send(worker, request, (error) => take(request.id)?.reject(error))
      }),
    cut: () => gate.close(),
    ended,
  }
}

function send(worker: Worker, request: Request, refuse: (error: Error) => void): void {
  try {
    worker.postMessage(request)
  } catch (error) {
    refuse(
      new HapaxError('store_failed', 'A value cannot be sent to the database: functions and symbols have no bytes.', {
        cause: error,
      }),
    )
  }
}
