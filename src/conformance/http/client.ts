import { connect, type Socket } from 'node:net'

/** A request of a case: a POST to the first route with a key and a small JSON body, unless it says otherwise. */
export interface Asking {
  readonly method?: string
  readonly path?: string
  /** `undefined` sends none. */
  readonly key?: string | undefined
  readonly tenant?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string | ReadableStream<Uint8Array> | undefined
}

/** What came back. */
export interface Got {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
  readonly text: string
  readonly replayed: boolean
}

export const aKey = '8e03978e-40d5-43dd-bc93-6894a57f9324'
export const aBody = '{"amount":100,"currency":"EUR"}'

export async function ask(port: number, asking: Asking): Promise<Got> {
  const { method = 'POST', path = '/payments', tenant = 'acme' } = asking
  const key = 'key' in asking ? asking.key : aKey
  const body = 'body' in asking ? asking.body : bodiless.has(method) ? undefined : aBody
  const headers = new Headers({ 'x-tenant': tenant })
  if (key !== undefined) headers.set('idempotency-key', key)
  if (typeof body === 'string') headers.set('content-type', 'application/json')
  for (const [name, value] of Object.entries(asking.headers ?? {})) headers.set(name, value)
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers,
    redirect: 'manual',
    ...(body === undefined ? {} : { body, duplex: 'half' as const }),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    text: bytes.toString(),
    replayed: response.headers.get('idempotent-replayed') === 'true',
  }
}

const bodiless = new Set(['GET', 'HEAD'])

/** A connection on which a case writes bytes as it likes. */
export interface Wire {
  write(text: string): void
  /** Everything that came so far. */
  received(): string
  /** Everything that came until the server ended the connection. */
  readonly ended: Promise<string>
  /** Goes away without a word, as a client whose network died. */
  leave(): Promise<void>
}

export async function wire(port: number): Promise<Wire> {
  const socket = await connected(port)
  let received = ''
  socket.setEncoding('latin1')
  socket.on('data', (text) => {
    received += text
  })
  // A server may end the connection while the case still writes: what it said before that counts.
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve())
  })
  return {
    write: (text) => void socket.write(text, 'latin1'),
    received: () => received,
    ended: closed.then(() => received),
    leave() {
      socket.destroy()
      return closed
    },
  }
}

/** The head of a POST to the first route, with the lines that the case adds, after which the server shall hang up. */
export function head(...lines: readonly string[]): string {
  const all = ['POST /payments HTTP/1.1', 'Host: localhost', 'X-Tenant: acme', 'Connection: close', ...lines]
  return `${all.join('\r\n')}\r\n\r\n`
}

export function statusOf(received: string): number {
  return Number(received.split(' ', 2)[1])
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => resolve(socket))
    socket.once('error', reject)
  })
}
