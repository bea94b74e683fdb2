import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Api } from '../../sandbox/sandbox-process.js'

/** A network in front of a server, which loses things by cutting the connection. */
export interface LossyNetwork {
  readonly url: string
  /** Asked once for each request. */
  loses(plan: () => Loss): void
  close(): void
}

/** What goes missing: a request before its first byte arrives, or an answer after the server has sent it. */
export type Loss = 'request' | 'answer' | 'nothing'

/** One in front of a sandbox, for as long as a test takes. */
export async function lossyProxy<A extends Api>(sandbox: A) {
  const { url, loses, close } = await lossyNetwork(sandbox)
  onTestFinished(close)
  return { sandbox: { ...sandbox, url }, loses }
}

export async function lossyNetwork({ url }: Api): Promise<LossyNetwork> {
  const target = new URL(url)
  let plan = (): Loss => 'nothing'
  const server = createServer((client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port) })
    let loss: Loss | undefined
    const cut = () => {
      client.destroy()
      upstream.destroy()
    }
    client.on('data', (bytes) => {
      loss ??= plan()
      return loss === 'request' ? cut() : upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (loss === 'answer') return cut()
      // On a connection that is kept alive, the next byte of the client begins its next request.
      loss = undefined
      return client.write(bytes)
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {}).on('close', () => other.destroy())
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    loses(next) {
      plan = next
    },
    close: () => void server.close(),
  }
}
