import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A payment provider outside of everything that Hapax controls. It charges at once and counts; it may never answer. */
export interface Gateway {
  readonly url: string
  readonly charges: () => number
  /** Resolves when the next charge has landed. */
  charged(): Promise<unknown>
}

export async function startGateway(mode: 'answers' | 'is silent'): Promise<Gateway> {
  let charges = 0
  const server = createServer((_request, response) => {
    charges++
    server.emit('charged')
    if (mode === 'answers') response.end(`charge ${charges}`)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, charges: () => charges, charged: () => once(server, 'charged') }
}
