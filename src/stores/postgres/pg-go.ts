import type { SqlValue } from '../sql/row.js'

/**
 * Several statements in one go, on a connection of `pg`. The library waits for each answer before it sends the next
 * statement; but whoever has a `submit` may speak the protocol himself, as its cursors do. All of them travel before one Sync,
 * so that the server passes over whatever stands behind one that fails.
 */

/** A statement as it is sent. One with a name is read by the server once for each connection. */
export interface Spoken {
  readonly text: string
  readonly name: string | undefined
  readonly values: readonly SqlValue[]
}

/** The rows of each statement, in PostgreSQL's own spelling. */
export type Heard = readonly (readonly (string | null)[])[]

/** How this library writes to the server, as far as it is used here. */
interface Wire {
  readonly stream: { cork?(): void; uncork?(): void }
  /** What the server knows by name on this connection. */
  readonly parsedStatements: Record<string, string>
  parse(message: { readonly name: string; readonly text: string }): void
  bind(message: { readonly statement: string; readonly values: readonly (string | Uint8Array | null)[] }): void
  execute(message: { readonly portal: '' }): void
  close(message: { readonly type: 'S'; readonly name: string }): void
  sync(): void
}

/** Whether statements can go together on this client: not on a native one, nor on one that sends ahead by itself. */
export function mayGo(client: object): boolean {
  const { connection, pipeline } = client as { connection?: Partial<Wire>; pipeline?: boolean }
  if (pipeline === true || typeof connection?.stream !== 'object' || connection.parsedStatements == null) return false
  return (['parse', 'bind', 'execute', 'close', 'sync'] as const).every(
    (name) => typeof connection[name] === 'function',
  )
}

export function go<T>(
  client: object,
  spoken: readonly Spoken[],
  understood: (heard: readonly Heard[]) => T,
): Promise<T> {
  const sending = client as { query(going: Going): void }
  return new Promise((resolve, reject) => {
    const told: Told = (error, heard = []) => (error ? reject(error) : resolve(understood(heard)))
    sending.query(new Going(spoken, told))
  })
}

type Told = (error: Error | null | undefined, heard?: readonly Heard[]) => void

/** What the library hands the answers to. It is one to the library, which may wrap its `callback`. */
class Going {
  callback: Told
  readonly #spoken: readonly Spoken[]
  readonly #heard: (readonly (string | null)[])[][]
  #known: Record<string, string> = {}
  #turn = 0

  constructor(spoken: readonly Spoken[], callback: Told) {
    this.callback = callback
    this.#spoken = spoken
    this.#heard = spoken.map(() => [])
  }

  submit(wire: Wire): null {
    this.#known = wire.parsedStatements
    wire.stream.cork?.()
    try {
      for (const { text, name = '', values } of this.#spoken) {
        if (this.#known[name] === undefined) {
          // Where an earlier go failed the server may know it all the same. To close one that is not there is no error.
          if (name !== '') wire.close({ type: 'S', name })
          wire.parse({ name, text })
        }
        wire.bind({ statement: name, values: values.map(written) })
        wire.execute({ portal: '' })
      }
      wire.sync()
    } finally {
      wire.stream.uncork?.()
    }
    return null
  }

  handleDataRow({ fields }: { readonly fields: (string | null)[] }): void {
    this.#heard[this.#turn]?.push(fields)
  }

  handleCommandComplete(): void {
    const done = this.#spoken[this.#turn]
    if (done?.name !== undefined) this.#known[done.name] = done.text
    this.#turn += 1
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#heard)
  }

  handleError(error: Error): void {
    this.callback(error)
  }

  // Nothing that is sent here is answered by any of these.
  handleRowDescription(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
}

function written(value: SqlValue): string | Uint8Array | null {
  if (typeof value === 'number') return String(value)
  if (value === null || typeof value === 'string' || Buffer.isBuffer(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
