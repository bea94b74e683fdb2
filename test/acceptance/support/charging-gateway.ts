import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A provider that charges once per key, and can be asked what became of one. */
export interface ChargingGateway {
  readonly url: string
  /** The key of every request to charge, in order. */
  readonly asked: string[]
  /** How many charges there are. */
  charges(): number
  /** What it says when it is asked about a key: the truth, nothing yet, or an outage. */
  says: 'truth' | 'nothing' | 'outage'
  /** Whether a charge lands and is answered; lands, and the answer is lost; or is lost on its way. */
  does: 'answers' | 'lands' | 'loses'
  /** Called while a request to charge is under way. */
  meanwhile: () => void
}

export async function chargingGateway(): Promise<ChargingGateway> {
  const charges = new Map<string, { readonly id: string }>()
  const gateway: Omit<ChargingGateway, 'url'> = {
    asked: [],
    charges: () => charges.size,
    says: 'truth',
    does: 'answers',
    meanwhile: () => {},
  }
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      if (gateway.says === 'outage') return void response.writeHead(503).end()
      const charge = charges.get(new URL(request.url ?? '', 'http://localhost').searchParams.get('key') ?? '')
      const said = charge === undefined ? { landed: false } : { landed: true, result: charge }
      return void response.end(JSON.stringify(gateway.says === 'nothing' ? {} : said))
    }
    const key = String(request.headers['idempotency-key'])
    gateway.asked.push(key)
    gateway.meanwhile()
    if (gateway.does !== 'loses' && !charges.has(key)) charges.set(key, { id: `ch_${charges.size + 1}` })
    if (gateway.does === 'answers') response.end(JSON.stringify(charges.get(key)))
    else response.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(gateway, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` })
}
