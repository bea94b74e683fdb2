import { type AddressInfo, connect, createServer } from 'node:net'
import { atEnd } from './sandbox-process.js'

/** A wire to PostgreSQL that can lose the news of a commit. */
export interface CommittingWire {
  /** The same database, through the wire. */
  readonly url: string
  /** From now on no client hears that its COMMIT is done. Resolves when the first one is. */
  withholdCommit(): Promise<void>
}

/** How the server says that a COMMIT is done. */
const commandComplete = Buffer.from('COMMIT\0')

export async function committingWire(target: string): Promise<CommittingWire> {
  const { hostname, port } = new URL(target)
  let onCommit: (() => void) | undefined

  const listener = createServer((client) => {
    const server = connect(Number(port), hostname)
    client.pipe(server)
    server.on('data', (bytes) => {
      if (onCommit !== undefined && bytes.includes(commandComplete)) onCommit()
      else client.write(bytes)
    })
    for (const end of [client, server]) {
      end.on('error', () => undefined)
      end.on('close', () => {
        client.destroy()
        server.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  atEnd(async () => void listener.close())

  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as AddressInfo).port)
  return {
    url: url.href,
    withholdCommit: () =>
      new Promise((resolve) => {
        onCommit = resolve
      }),
  }
}
