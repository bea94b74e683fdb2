import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'
import type { SandboxProcess } from '../../sandbox/sandbox-process.js'

/** A network in front of a sandbox, which loses what it is told to lose by cutting the connection. */
export interface LossyProxy {
  readonly sandbox: SandboxProcess
  /** Of the next request: the request before its first byte arrives, or the answer after the server has sent it. */
  loseNext(what: 'request' | 'answer'): void
}

export async function lossyProxy(sandbox: SandboxProcess): Promise<LossyProxy> {
  const target = new URL(sandbox.url)
  let loses: 'request' | 'answer' | 'nothing' = 'nothing'
  const server = createServer((client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port) })
    const cut = () => {
      loses = 'nothing'
      client.destroy()
      upstream.destroy()
    }
    client.on('data', (bytes) => (loses === 'request' ? cut() : upstream.write(bytes)))
    upstream.on('data', (bytes) => (loses === 'answer' ? cut() : client.write(bytes)))
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
    loseNext(what) {
      loses = what
    },
  }
}
