import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { atEnd } from '../../sandbox/sandbox-process.js'

/**
 * What stands before two nodes that are one service. A request whose key was seen before goes to the node that did not
 * get it the last time, so that every retry meets the other one; all others take turns. The bytes pass as they are.
 */
export async function alternatingProxy(urls: readonly [string, string]): Promise<string> {
  const last = new Map<string, number>()
  let turn = 0
  const nodeFor = (request: string): number => {
    const key = /\r\nidempotency-key: *([^\r]*)/i.exec(request)?.[1]?.replaceAll('"', '')
    const node = ((key === undefined ? undefined : last.get(key)) ?? turn++) % 2 === 0 ? 1 : 0
    if (key !== undefined) last.set(key, node)
    return node
  }
  const sockets = new Set<Socket>()
  const server = createServer((client) => relay(client, nodeFor, urls, sockets))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  atEnd(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const requestLine = /^[A-Z]+ \S+ HTTP\/1/

/** A connection that is kept alive carries one request after the other, each of them to the node that it is for. */
function relay(client: Socket, nodeFor: (request: string) => number, urls: readonly string[], sockets: Set<Socket>) {
  const upstreams = new Map<number, Socket>()
  let current: Socket | undefined
  let isAnswered = true
  const add = (socket: Socket, others: () => Iterable<Socket>) => {
    sockets.add(socket)
    socket
      .on('error', () => {})
      .on('close', () => {
        sockets.delete(socket)
        for (const other of others()) other.destroy()
      })
  }
  const upstreamTo = (node: number): Socket => {
    const known = upstreams.get(node)
    if (known !== undefined) return known
    const { hostname, port } = new URL(urls[node] ?? '')
    const upstream = connect({ host: hostname, port: Number(port) })
    upstreams.set(node, upstream)
    add(upstream, () => (current === upstream ? [client] : []))
    upstream.on('close', () => upstreams.delete(node))
    upstream.on('end', () => current === upstream && client.end())
    upstream.on('data', (bytes) => {
      isAnswered = true
      client.write(bytes)
    })
    return upstream
  }
  add(client, () => upstreams.values())
  client.on('data', (bytes) => {
    const text = bytes.toString('latin1')
    if (isAnswered && requestLine.test(text)) {
      current = upstreamTo(nodeFor(text))
      isAnswered = false
    }
    current ??= upstreamTo(0)
    current.write(bytes)
  })
}
