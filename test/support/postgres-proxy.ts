import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A wire between a client and PostgreSQL that can be cut. */
export interface PostgresProxy {
  /** The same database, through the wire. */
  readonly url: string
  /** Cuts every connection. If none was in the middle of something, the next one to be made is cut as well. */
  cut(): void
  close(): Promise<void>
}

/** What the server says last when it waits for the next statement outside of a transaction: ReadyForQuery, idle. */
const idle = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

interface Wire {
  readonly client: Socket
  readonly server: Socket
  isIdle: boolean
}

export async function postgresProxy(target: string): Promise<PostgresProxy> {
  const { hostname, port } = new URL(target)
  const wires = new Set<Wire>()
  let isNextCut = false

  const listener: Server = createServer((client) => {
    if (isNextCut) {
      isNextCut = false
      client.destroy()
      return
    }
    const wire: Wire = { client, server: connect(Number(port), hostname), isIdle: false }
    wires.add(wire)
    const { server } = wire
    client.on('data', (bytes) => {
      wire.isIdle = false
      server.write(bytes)
    })
    server.on('data', (bytes) => {
      wire.isIdle = bytes.subarray(-idle.length).equals(idle)
      client.write(bytes)
    })
    for (const [end, other] of [
      [client, server],
      [server, client],
    ] as const) {
      end.on('error', () => undefined)
      end.on('close', () => {
        wires.delete(wire)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as AddressInfo).port)

  return {
    url: url.href,
    cut() {
      isNextCut = [...wires].every(({ isIdle }) => isIdle)
      for (const { client, server } of wires) {
        client.destroy()
        server.destroy()
      }
    },
    close: () => new Promise((resolve) => listener.close(() => resolve())),
  }
}
