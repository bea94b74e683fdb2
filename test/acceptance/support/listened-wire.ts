import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** A wire to PostgreSQL on which somebody listens: what was sent and refused, as the protocol spells it. */
export interface Wire {
  /** The same database, through the wire. */
  readonly url: string
  /** Everything that was asked, in the order in which it was sent. */
  readonly statements: Statement[]
  /** The SQLSTATE of everything that the server refused. */
  readonly refusals: string[]
  /** How often a client waited for the server. */
  readonly roundTrips: () => number
  /** Forgets what was heard so far. */
  forget(): void
}

export interface Statement {
  readonly text: string
  /** The first value that goes with it. */
  first?: Buffer
}

export async function listenedWire(target: string): Promise<Wire> {
  const statements: Statement[] = []
  const refusals: string[] = []
  let roundTrips = 0

  const server = createServer((client) => {
    const { hostname, port } = new URL(target)
    const upstream = connect(Number(port), hostname)
    const asked = messages('startup first', (type, body) => {
      if (type === 'Q') statements.push({ text: textAt(body, 0) })
      if (type === 'P') statements.push({ text: textAt(body, body.indexOf(0) + 1) })
      const last = statements.at(-1)
      if (type === 'B' && last !== undefined) last.first = firstValueOf(body)
    })
    const answered = messages('typed', (type, body) => {
      if (type === 'Z') roundTrips++
      if (type === 'E') refusals.push(/\0C([0-9A-Z]{5})\0/.exec(`\0${body.toString('latin1')}`)?.[1] ?? 'unnamed')
    })
    client.on('data', (bytes: Buffer) => void asked(bytes)).pipe(upstream)
    upstream.on('data', (bytes: Buffer) => void answered(bytes)).pipe(client)
    for (const [end, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      end.on('error', () => undefined).on('close', () => other.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    statements,
    refusals,
    roundTrips: () => roundTrips,
    forget() {
      statements.length = 0
      refusals.length = 0
      roundTrips = 0
    },
  }
}

/** Cuts a stream into messages: a letter, a length that counts itself, a body. What a client says first has no letter. */
function messages(from: 'startup first' | 'typed', hear: (type: string, body: Buffer) => void) {
  let rest: Buffer = Buffer.alloc(0)
  let letter = from === 'typed' ? 1 : 0
  return (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= letter + 4) {
      const end = letter + rest.readUInt32BE(letter)
      if (rest.length < end) return
      if (letter === 1) hear(String.fromCharCode(rest[0] ?? 0), rest.subarray(5, end))
      rest = rest.subarray(end)
      letter = 1
    }
  }
}

function textAt(body: Buffer, start: number): string {
  return body.toString('utf8', start, body.indexOf(0, start))
}

/** Of a Bind: behind two names and the formats stand the values, each behind its length. */
function firstValueOf(body: Buffer): Buffer {
  const formats = body.indexOf(0, body.indexOf(0) + 1) + 1
  const values = formats + 2 + 2 * body.readUInt16BE(formats)
  if (body.readUInt16BE(values) === 0) return Buffer.alloc(0)
  const start = values + 6
  return Buffer.from(body.subarray(start, start + body.readInt32BE(values + 2)))
}
