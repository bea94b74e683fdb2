import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'
import type { SandboxProcess } from '../../sandbox/sandbox-process.js'

/** A network in front of a sandbox, which loses things by cutting the connection. */
export interface LossyProxy {
  readonly sandbox: SandboxProcess
  /** Asked once for each request. */
  loses(plan: () => Loss): void
}

/** What goes missing: a request before its first byte arrives, or an answer after the server has sent it. */
export type Loss = 'request' | 'answer' | 'nothing'

export async function lossyProxy(sandbox: SandboxProcess): Promise<LossyProxy> {
  const target = new URL(sandbox.url)
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
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return {
    sandbox: { ...sandbox, url: `http://127.0.0.1:${port}` },
    loses(next) {
      plan = next
    },
  }
}
