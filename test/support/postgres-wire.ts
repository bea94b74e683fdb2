import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { clientMessages, type Message, serverMessages } from './postgres-messages.js'
import { type StatementPart, statementParts } from './postgres-statements.js'

/**
 * A wire between clients and PostgreSQL on which a test hears everything and decides the fate of every single statement.
 * As long as it decides nothing, everything passes as it comes.
 */
export interface PostgresWire {
  /** The same database, through the wire. */
  readonly url: string
  /** Every statement so far, in the order of arrival. */
  readonly statements: readonly WireStatement[]
  /** How often somebody asked the server to cancel a statement. */
  readonly cancels: number
  /** How many clients are connected now. */
  readonly clients: number
  /** Tells of every message as it comes, before anything is decided about it. */
  listen(hear: (heard: Heard) => void): void
  /** Asked once for each statement, before the server sees it. The statement waits as long as the rule takes. */
  rule(fateOf: FateOf): void
  /** Everything passes again. */
  heal(): void
  /** Cuts every connection. If none was in the middle of something, the next one to be made is cut as well. */
  cut(): void
  close(): Promise<void>
}

export interface Heard extends Message {
  readonly from: 'client' | 'server'
  /** Which connection it came on, counted from 1. */
  readonly connection: number
}

export interface WireStatement {
  readonly text: string
  /** Its first word, in capitals; or COMMIT, where that travels with others. */
  readonly word: string
  /** Which connection it came on, counted from 1. */
  readonly connection: number
  /** Cuts its connection now. A server that is at work on it goes on. */
  cut(): void
}

/**
 * `cut after` waits until the server has answered in full, and hands on nothing of the answer; `keep answer` hands on
 * nothing either, and leaves the client waiting.
 */
export type Fate = 'pass' | 'cut before' | 'cut after' | 'keep answer'

export type FateOf = (statement: WireStatement) => Fate | Promise<Fate>

/** How a connection ends: an end that was said, or a reset. */
export type Ending = 'closed' | 'reset'

export async function postgresWire(target: string, ending: Ending = 'closed'): Promise<PostgresWire> {
  const { hostname, port } = new URL(target)
  const statements: WireStatement[] = []
  const listeners: ((heard: Heard) => void)[] = []
  const connected = new Set<Connection>()
  let fateOf: FateOf | undefined
  let cancels = 0
  let connections = 0
  let isNextCut = false

  const listener = createServer((client) => {
    if (isNextCut) {
      isNextCut = false
      client.destroy()
      return
    }
    const server = connect(Number(port), hostname)
    const connection = ++connections
    const tell = (from: Heard['from']) => (message: Message) => {
      if (message.type === 'cancel') cancels++
      for (const hear of listeners) hear({ ...message, from, connection })
    }
    const end = () => {
      connected.delete(live)
      if (ending === 'reset' && !client.destroyed) client.resetAndDestroy()
      client.destroy()
      server.destroy()
    }
    const answers = answersOf(server, client, tell('server'))
    const live: Connection = { end, isIdle: () => answers.areComplete() }
    connected.add(live)
    for (const socket of [client, server]) socket.on('error', end).on('close', end)

    const handle = async (message: Message, spoken: StatementPart | 'no statement') => {
      if (client.destroyed) return
      // No, as a server without TLS says it.
      if (message.type === 'encryption') client.write('N')
      else if (spoken === 'no statement') server.write(message.bytes)
      else await handlePart(spoken)
    }
    let fate: Fate | undefined
    const handlePart = async ({ text, bytes, isLast }: StatementPart) => {
      if (fate === undefined) {
        if (fateOf !== undefined) await answers.complete()
        const statement = { text, word: wordOf(text), connection, cut: end }
        statements.push(statement)
        fate = (await fateOf?.(statement)) ?? 'pass'
      }
      if (fate === 'cut before' || client.destroyed) return end()
      if (isLast) {
        if (fate === 'cut after') answers.withhold(end)
        if (fate === 'keep answer') answers.withhold(() => undefined)
        answers.expect()
        fate = undefined
      }
      server.write(bytes)
    }
    const received = clientMessages()
    const spokenBy = statementParts()
    let handling = Promise.resolve()
    client.on('data', (bytes) => {
      answers.begin()
      for (const message of received(bytes)) {
        tell('client')(message)
        const spoken = spokenBy(message)
        if (spoken !== 'not yet') handling = handling.then(() => handle(message, spoken)).catch(end)
      }
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as AddressInfo).port)

  return {
    url: url.href,
    statements,
    get cancels() {
      return cancels
    },
    get clients() {
      return connected.size
    },
    listen: (hear) => void listeners.push(hear),
    rule(given) {
      fateOf = given
    },
    heal() {
      fateOf = undefined
    },
    cut() {
      isNextCut = [...connected].every(({ isIdle }) => isIdle())
      for (const { end } of connected) end()
    },
    close() {
      for (const { end } of connected) end()
      return new Promise((resolve) => listener.close(() => resolve()))
    },
  }
}

function wordOf(text: string): string {
  return /; COMMIT$/i.test(text) ? 'COMMIT' : (text.trim().split(/\W/, 1)[0]?.toUpperCase() ?? '')
}

interface Connection {
  end(): void
  /** Whether its session waits for the next statement, outside of a transaction. */
  isIdle(): boolean
}

interface Answers {
  /** The client has said something. */
  begin(): void
  /** One more statement is on its way to the server. */
  expect(): void
  /** Resolves once every statement so far is answered. */
  complete(): Promise<void>
  /** Whether the client has said nothing since everything was answered, and is in no transaction. */
  areComplete(): boolean
  /** From here on the client hears nothing; calls back when the answer that is expected next is there in full. */
  withhold(answered: () => void): void
}

/** Hands the server's answers to the client, and knows when each is complete: by ReadyForQuery. */
function answersOf(server: Socket, client: Socket, tell: (message: Message) => void): Answers {
  const received = serverMessages()
  let expected = 0
  let areComplete = false
  let waiting: (() => void)[] = []
  let withheld: (() => void) | undefined
  server.on('data', (bytes) => {
    if (withheld === undefined) client.write(bytes)
    for (const message of received(bytes)) {
      tell(message)
      if (message.type !== 'Z') continue
      expected = Math.max(0, expected - 1)
      if (expected > 0) continue
      areComplete = message.body.toString() === 'I'
      for (const wake of waiting) wake()
      waiting = []
      withheld?.()
    }
  })
  return {
    begin() {
      areComplete = false
    },
    expect: () => void expected++,
    complete: () => (expected === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    areComplete: () => areComplete,
    withhold(answered) {
      withheld = answered
    },
  }
}
