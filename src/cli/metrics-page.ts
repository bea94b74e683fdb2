import { createServer } from 'node:http'
import { systemClock, within } from '../kernel/clock.js'
import { defaults } from '../kernel/limits.js'
import { prometheus } from '../telemetry/prometheus.js'
import { type TelemetryHost, telemetry } from '../telemetry/telemetry.js'
import { usage } from './usage.js'

/** Where a page of metrics is served. */
export interface Place {
  readonly host: string
  readonly port: number
}

/** A port alone is one of the loopback: who wants others to see the page says so. */
export function placeOf(text: string): Place {
  const [, host = loopback, port] = /^(?:(\[[0-9a-f:]+\]|[^\s:/[\]]+)?:)?(\d{1,5})$/i.exec(text) ?? []
  if (port === undefined || Number(port) > 65_535)
    throw usage(`--metrics is ${JSON.stringify(text)}; give a port like 9464, or 0.0.0.0:9464 for other machines.`)
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

const loopback = '127.0.0.1'

/** What this process counts, at `/metrics`, for Prometheus. */
export async function metricsPage(hapax: TelemetryHost, { host, port }: Place) {
  const watch = telemetry({ hapax })
  const page = prometheus(watch)
  const server = createServer(async ({ method = 'GET', url }, response) => {
    const isHere = url?.split('?')[0] === '/metrics'
    const told = isHere ? page(new Request(`http://${loopback}/metrics`, { method })) : notHere()
    response.writeHead(told.status, Object.fromEntries(told.headers))
    response.end(await told.text())
  })
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, resolve)
    })
  } catch (error) {
    await watch.stop()
    throw new Error(`The page of --metrics cannot be served. (${(error as Error).message})`, { cause: error })
  }
  const { address, port: taken } = server.address() as { address: string; port: number }
  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${taken}/metrics`,
    /** Scrapers keep their connections: they are not waited for. */
    async close() {
      server.close()
      server.closeAllConnections()
      await within(systemClock, defaults.storeTimeoutMs, watch.stop(), () => new Error()).catch(() => undefined)
    },
  }
}

function notHere(): Response {
  return new Response('The metrics are at /metrics.\n', { status: 404, headers: { 'Content-Type': 'text/plain' } })
}
