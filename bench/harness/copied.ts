import type pg from 'pg'

/** As much as a server is sent at a time. */
const chunkBytes = 1 << 16

/** What pg calls when a statement of its own kind is its turn, as far as a COPY needs it. */
interface Connection {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
  sendCopyFail(why: string): void
  readonly stream: NodeJS.WritableStream & { readonly writableNeedDrain: boolean }
}

/**
 * Writes rows by `COPY … FROM STDIN`, the quickest way into a table that there is. A row is its cells in PostgreSQL's text
 * format, which `cell` writes.
 */
export function copied(client: pg.PoolClient, into: string, rows: Iterable<readonly string[]>): Promise<void> {
  return new Promise((resolve, reject) => {
    let failed: unknown
    const copying = {
      submit: (connection: Connection) => connection.query(`COPY ${into} FROM STDIN`),
      handleCopyInResponse: (connection: Connection) =>
        void send(connection, rows).catch((error: unknown) => connection.sendCopyFail(String(error))),
      handleCommandComplete: () => undefined,
      handleError: (error: unknown) => {
        failed = error
      },
      handleReadyForQuery: () => (failed === undefined ? resolve() : reject(failed)),
    }
    client.query(copying as unknown as pg.Submittable)
  })
}

/** One value, or its absence. */
export function cell(value: string | number | Uint8Array | undefined): string {
  if (value === undefined) return '\\N'
  if (value instanceof Uint8Array) return `\\\\x${Buffer.from(value).toString('hex')}`
  return String(value).replaceAll(/[\\\t\n\r]/g, (character) => `\\${character}`)
}

async function send(connection: Connection, rows: Iterable<readonly string[]>): Promise<void> {
  let chunk = ''
  for (const row of rows) {
    chunk += `${row.join('\t')}\n`
    if (chunk.length < chunkBytes) continue
    connection.sendCopyFromChunk(Buffer.from(chunk))
    chunk = ''
    if (connection.stream.writableNeedDrain) await new Promise((drained) => connection.stream.once('drain', drained))
  }
  if (chunk !== '') connection.sendCopyFromChunk(Buffer.from(chunk))
  connection.endCopyFrom()
}
