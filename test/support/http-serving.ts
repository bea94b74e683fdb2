import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Said, Served } from 'hapax/conformance'

/** What the harnesses of the adapters have in common: a port of the loopback, and bodies. */

export async function listening(listener: RequestListener, port = 0): Promise<Served> {
  const server = createServer(listener)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

export async function collected(body: Said['body']): Promise<Uint8Array> {
  if (body === undefined || body instanceof Uint8Array) return body ?? new Uint8Array()
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}
