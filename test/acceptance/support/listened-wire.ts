import { textAt } from '../../support/postgres-messages.js'
import { preparedBy } from '../../support/postgres-statements.js'
import { postgresWire } from '../../support/postgres-wire.js'

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
  close(): Promise<void>
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
  const wire = await postgresWire(target)
  wire.listen(({ from, type, body }) => {
    const last = statements.at(-1)
    if (from === 'server') {
      if (type === 'Z') roundTrips++
      if (type === 'E') refusals.push(/\0C([0-9A-Z]{5})\0/.exec(`\0${body.toString('latin1')}`)?.[1] ?? 'unnamed')
    } else if (type === 'Q') statements.push({ text: textAt(body, 0) })
    else if (type === 'P') statements.push({ text: preparedBy(body).text })
    else if (type === 'B' && last !== undefined) last.first = firstValueOf(body)
  })
  return {
    url: wire.url,
    statements,
    refusals,
    roundTrips: () => roundTrips,
    forget() {
      statements.length = 0
      refusals.length = 0
      roundTrips = 0
    },
    close: wire.close,
  }
}

/** Of a Bind: behind two names and the formats stand the values, each behind its length. */
function firstValueOf(body: Buffer): Buffer {
  const formats = body.indexOf(0, body.indexOf(0) + 1) + 1
  const values = formats + 2 + 2 * body.readUInt16BE(formats)
  if (body.readUInt16BE(values) === 0) return Buffer.alloc(0)
  const start = values + 6
  return Buffer.from(body.subarray(start, start + body.readInt32BE(values + 2)))
}
