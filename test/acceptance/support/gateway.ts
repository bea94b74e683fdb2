import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A payment provider outside of everything that Hapax controls: it charges at once, counts, and answers when told. */
export interface Gateway {
  readonly url: string
  readonly charges: () => number
  /** Resolves when the next charge has landed. */
  charged(): Promise<unknown>
  /** Answers what waits for an answer, and from now on everything at once. */
  answer(): void
}

export async function startGateway(): Promise<Gateway> {
  let charges = 0
  let isSilent = true
  const waiting: ServerResponse[] = []
  const server = createServer((_request, response) => {
    charges++
    if (isSilent) waiting.push(response)
    else response.end('charged')
    server.emit('charged')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    charges: () => charges,
    charged: () => once(server, 'charged'),
    answer() {
      isSilent = false
      for (const response of waiting) response.end('charged')
    },
  }
}

/** An address on which nobody listens: to connect is refused before a byte is sent. */
export async function deadAddress(): Promise<string> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}/`
}
