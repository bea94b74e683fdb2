import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A wire to PostgreSQL that hears which statements are prepared. */
export interface OverheardWire {
  /** The same database, through the wire. */
  readonly url: string
  readonly prepared: readonly Prepared[]
  close(): Promise<void>
}

export interface Prepared {
  /** Empty for a statement without a name. */
  readonly name: string
  readonly text: string
  /** The number of the connection, from 1. */
  readonly connection: number
}

export async function overheardWire(target: string): Promise<OverheardWire> {
  const { hostname, port } = new URL(target)
  const prepared: Prepared[] = []
  let connections = 0
  const listener = createServer((client) => {
    const server = connect(Number(port), hostname)
    const connection = ++connections
    const hear = hearing(({ name, text }) => prepared.push({ name, text, connection }))
    client.on('data', hear)
    join(client, server)
    join(server, client)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as AddressInfo).port)
  return { url: url.href, prepared, close: () => new Promise((resolve) => listener.close(() => resolve())) }
}

function join(from: Socket, to: Socket): void {
  from.pipe(to)
  from.on('error', () => to.destroy())
  from.on('close', () => to.destroy())
}

/** Reads what a client sends: the first message has no type, and every later one has a letter before its length. */
function hearing(onPrepared: (prepared: Omit<Prepared, 'connection'>) => void): (bytes: Buffer) => void {
  let waiting = Buffer.alloc(0)
  let typeBytes = 0
  return (bytes) => {
    waiting = Buffer.concat([waiting, bytes])
    while (waiting.length >= typeBytes + 4) {
      const end = typeBytes + waiting.readInt32BE(typeBytes)
      if (waiting.length < end) return
      if (typeBytes === 1) for (const prepared of preparedIn(waiting.subarray(0, end))) onPrepared(prepared)
      waiting = waiting.subarray(end)
      typeBytes = 1
    }
  }
}

/** What a Parse message prepares, or a simple query that says PREPARE. */
function preparedIn(message: Buffer): readonly Omit<Prepared, 'connection'>[] {
  const type = String.fromCharCode(message[0] ?? 0)
  const [first = '', second = ''] = message.subarray(5).toString().split('\0')
  if (type === 'P') return [{ name: first, text: second }]
  const prepares = type === 'Q' ? first.matchAll(/\bPREPARE\s+(\w+)/gi) : []
  return [...prepares].map(([, name = '']) => ({ name, text: first }))
}
