import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Frontend, frontendMessages, typedMessages } from './postgres-messages.js'

/**
 * A wire between a client and PostgreSQL on which a test decides the fate of every single statement. It knows as much
 * of the protocol as is needed to tell where a statement begins, what it says, and when its answer is complete.
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
  /** Asked once for each statement, before the server sees it. The statement waits as long as the rule takes. */
  rule(fateOf: (statement: WireStatement) => Fate | Promise<Fate>): void
  /** Everything passes again. */
  heal(): void
  close(): Promise<void>
}

export interface WireStatement {
  readonly text: string
  /** Its first word, in capitals. */
  readonly word: string
  /** Which connection it came on, counted from 1. */
  readonly connection: number
  /** Cuts its connection now. A server that is at work on it goes on. */
  cut(): void
}

/** `cut after` waits until the server has answered in full, and hands on nothing of the answer. */
export type Fate = 'pass' | 'cut before' | 'cut after'

/** How a connection ends: an end that was said, or a reset. */
export type Ending = 'closed' | 'reset'

export async function postgresWire(target: string, ending: Ending = 'closed'): Promise<PostgresWire> {
  const { hostname, port } = new URL(target)
  const statements: WireStatement[] = []
  const clients = new Set<Socket>()
  let fateOf: (statement: WireStatement) => Fate | Promise<Fate> = () => 'pass'
  let cancels = 0
  let connections = 0

  const listener = createServer((client) => {
    const server = connect(Number(port), hostname)
    const connection = ++connections
    clients.add(client)
    const end = () => {
      clients.delete(client)
      if (ending === 'reset' && !client.destroyed) client.resetAndDestroy()
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) socket.on('error', end).on('close', end)
    const replies = answersOf(server, client)
    const received = frontendMessages()
    let handling = Promise.resolve()
    client.on('data', (bytes) => {
      for (const message of received(bytes)) handling = handling.then(() => handle(message)).catch(end)
    })

    async function handle(message: Frontend): Promise<void> {
      if (client.destroyed) return
      switch (message.kind) {
        case 'cancel':
          cancels++
          return end()
        case 'encryption':
          // No, as a server without TLS says it.
          return void client.write('N')
        case 'other':
          return void server.write(message.bytes)
        case 'part':
          return statementPart(message)
      }
    }

    let fate: Fate | undefined
    async function statementPart({ text, bytes, isLast }: Extract<Frontend, { kind: 'part' }>): Promise<void> {
      if (fate === undefined) {
        await replies.complete()
        const statement = { text, word: text.trim().split(/\W/, 1)[0]?.toUpperCase() ?? '', connection, cut: end }
        statements.push(statement)
        fate = await fateOf(statement)
      }
      if (fate === 'cut before' || client.destroyed) return end()
      if (isLast) {
        if (fate === 'cut after') replies.withhold(end)
        replies.expect()
        fate = undefined
      }
      server.write(bytes)
    }
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
      return clients.size
    },
    rule(given) {
      fateOf = given
    },
    heal() {
      fateOf = () => 'pass'
    },
    close() {
      for (const client of clients) client.destroy()
      return new Promise((resolve) => listener.close(() => resolve()))
    },
  }
}

interface Replies {
  /** One more statement is on its way to the server. */
  expect(): void
  /** Resolves once every statement so far is answered. */
  complete(): Promise<void>
  /** From here on the client hears nothing; calls back when the answer that is expected next is there in full. */
  withhold(answered: () => void): void
}

/** Hands the server's answers to the client, and knows when each is complete: by ReadyForQuery. */
function answersOf(server: Socket, client: Socket): Replies {
  const received = typedMessages()
  let expected = 0
  let waiting: (() => void)[] = []
  let withheld: (() => void) | undefined
  server.on('data', (bytes) => {
    if (withheld === undefined) client.write(bytes)
    for (const { type } of received(bytes)) {
      if (type !== 'Z' || expected === 0) continue
      expected--
      if (expected > 0) continue
      for (const wake of waiting) wake()
      waiting = []
      withheld?.()
    }
  })
  return {
    expect: () => void expected++,
    complete: () => (expected === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    withhold(answered) {
      withheld = answered
    },
  }
}
