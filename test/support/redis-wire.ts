import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A wire between a client and Redis that can be cut. */
export interface RedisWire {
  readonly port: number
  /** Cuts what is under way, or else what is sent next. */
  cut(): void
  close(): Promise<void>
}

export async function redisWire(target: number): Promise<RedisWire> {
  const links = new Set<Link>()
  let isNextCut = false
  const listener = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    const link: Link = { isBusy: false, end: () => ended(links, link, client, server) }
    links.add(link)
    for (const socket of [client, server]) socket.on('error', link.end).on('close', link.end)
    client.on('data', (bytes) => {
      if (isNextCut) {
        isNextCut = false
        return link.end()
      }
      link.isBusy = true
      server.write(bytes)
    })
    server.on('data', (bytes) => {
      link.isBusy = false
      client.write(bytes)
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return {
    port: (listener.address() as AddressInfo).port,
    cut() {
      const busy = [...links].filter(({ isBusy }) => isBusy)
      isNextCut = busy.length === 0
      for (const { end } of busy) end()
    },
    close() {
      for (const { end } of links) end()
      return new Promise((resolve) => listener.close(() => resolve()))
    },
  }
}

interface Link {
  isBusy: boolean
  end(): void
}

function ended(links: Set<Link>, link: Link, ...sockets: readonly Socket[]): void {
  links.delete(link)
  for (const socket of sockets) socket.destroy()
}
