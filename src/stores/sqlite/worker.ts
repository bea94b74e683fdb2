import { parentPort, workerData } from 'node:worker_threads'
import { invariant } from '../../kernel/errors.js'
import { loadDriver } from './driver.js'
import { faultOf } from './faults.js'
import { gateOn } from './gate.js'
import type { Outcome, Request, ServiceName, Services, ThreadSettings } from './protocol.js'
import { sqliteServices } from './services.js'

/** The thread that owns the connection, so that SQLite's calls, which block, never block the event loop. */

const port = parentPort
invariant(port, 'this file runs as a worker thread')
const { gate: shared, settings } = workerData as { gate: SharedArrayBuffer; settings: ThreadSettings }
const gate = gateOn(shared)
const services = sqliteServices(await loadDriver(), settings)

port.on('message', (request: Request) => {
  if (!gate.enter()) process.exit()
  const outcome = outcomeOf(request)
  if (!gate.exit()) process.exit()
  port.postMessage({ id: request.id, ...outcome })
  if (request.service === 'close') port.close()
})

function outcomeOf(request: Request): Outcome {
  try {
    return { kind: 'done', value: serve(services, request) }
  } catch (error) {
    return { kind: 'failed', fault: faultOf(error) }
  }
}

type Served = { readonly [K in ServiceName]: (...args: Parameters<Services[K]>) => ReturnType<Services[K]> }

function serve<K extends ServiceName>(served: Served, { service, args }: Request<K>): ReturnType<Services[K]> {
  return served[service](...args)
}
