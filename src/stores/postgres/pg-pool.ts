import { createHash } from 'node:crypto'
import { sleep, systemClock, within } from '../../kernel/clock.js'
import { isHapaxError } from '../../kernel/errors.js'
import { postgresBounds } from '../../kernel/limits.js'
import type { SqlValue } from '../sql/row.js'
import {
  type Asked,
  type Connections,
  type ConnectionUse,
  type Gave,
  isolation,
  type Last,
  named,
  type Progress,
  type Query,
  saying,
  transactionSettings,
} from './connections.js'
import {
  endedTransaction,
  isReusable,
  lateStatement,
  noConnection,
  readOnly,
  sqlStateOf,
  storeError,
} from './faults.js'
import { go, type Heard, mayGo } from './pg-go.js'
import { silenceOf } from './silence.js'
import { opens, undoneTo } from './undoable.js'

/** A `pg` Pool, by shape. */
export interface PgPool<Client extends PgClient = PgClient> {
  // The second signature is never called: with it, the compiler finds the type of the client in that of the pool.
  connect: { (): Promise<Client>; (callback: (...given: never[]) => void): void }
}

export interface PgClient {
  query(config: PgQuery): Promise<{ readonly rows: unknown[] }>
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

interface PgQuery {
  readonly text: string
  readonly values?: SqlValue[]
  readonly name?: string
  readonly rowMode: 'array'
  readonly types: { getTypeParser(): (value: string) => string }
}

export function pgConnections<Client extends PgClient>(pool: PgPool<Client>, use: ConnectionUse): Connections<Client> {
  const configOf = use.statements === 'named' ? namedConfigs() : configured
  const settings = transactionSettings(use)
  const bounded = <T>(promise: Promise<T>) =>
    within(systemClock, use.statementTimeoutMs, promise, () => lateStatement(use))

  /** In one go where the client can; else the library sends each when the one before is answered. */
  function send(client: Client, asked: readonly Asked[]): Promise<Gave> {
    if (!mayGo(client)) return sendInTurn(client, asked)
    const spoken = asked.map(({ query, values }) => {
      const { text, name } = configOf(query)
      return { text, name, values }
    })
    return go(client, spoken, (heard) => gaveOf(asked, heard))
  }

  async function sendInTurn(client: Client, asked: readonly Asked[]): Promise<Gave> {
    const answers = await Promise.all(asked.map((one) => sendAlone(client, one)))
    return gaveOf(
      asked,
      answers.map(({ rows }) => rows as (string | null)[][]),
    )
  }

  const sendAlone = (client: Client, { query, values }: Asked) =>
    client.query({ ...configOf(query), ...raw, values: [...values] })

  const say = (client: Client, asked: readonly Asked[]) => bounded(send(client, asked))

  async function committed(client: Client, last: Last = { asked: [], handOn: ignore }): Promise<void> {
    const gave = await say(client, [...last.asked, commit])
    last.handOn(gave.slice(0, last.asked.length))
  }

  function connected(): Promise<Client> {
    const connecting = pool.connect()
    return within(systemClock, use.statementTimeoutMs, connecting, () => {
      connecting.then((late) => late.release()).catch(() => undefined)
      return noConnection(use)
    })
  }

  /** Connections that owe an answer, each with the way to let go of it. */
  const aside = new Set<() => void>()

  function setAside(asked: Promise<unknown>, giveBack: (isUsable: boolean) => void): void {
    const over = new AbortController()
    const letGo = () => over.abort()
    aside.add(letGo)
    void answeredAtLast(asked, over.signal).then((isUsable) => {
      aside.delete(letGo)
      giveBack(isUsable)
    })
  }

  /** A connection for as long as it takes to be answered. */
  async function lent<Answer>(ask: (client: Client) => Promise<Answer>): Promise<Answer> {
    const client = await connected()
    // The statement itself says that a connection is lost. An event that nobody hears would end the process.
    client.on('error', ignore)
    const giveBack = (isUsable: boolean) => {
      client.off('error', ignore)
      client.release(!isUsable)
    }
    const asked = ask(client)
    try {
      const answer = await bounded(asked)
      giveBack(true)
      return answer
    } catch (error) {
      if (isHapaxError(error)) setAside(asked, giveBack)
      else giveBack(isReusable(error))
      throw error
    }
  }

  return {
    async close() {
      for (const letGo of aside) letGo()
    },

    async query(query, values) {
      const [rows = []] = await lent((client) => send(client, [{ query, values }]))
      return rows
    },

    async transaction(body, { asked: opening, savepoint } = { asked: [] }) {
      const client = await connected()
      const lost = loss()
      client.on('error', lost.report)
      const progress: Progress = { stage: 'open' }
      let isUsable = false
      const rolledBack = async (error: unknown) => {
        const isRolledBack = !lost.isReported() && (await say(client, [rollback]).then(yes, no))
        isUsable = isRolledBack && sqlStateOf(error) !== readOnly
      }
      try {
        const begun = [begin, settings, ...opening]
        const saved = savepoint === undefined ? [] : [saying(opens(savepoint))]
        const opened = (await say(client, [...begun, ...saved])).slice(begun.length - opening.length, begun.length)
        const leaving: { last?: Last } = {}
        const tx = guarded(client, () => progress.stage === 'open', silenceWatch(use, lost.report))
        const query = async (query: Query, values: readonly SqlValue[]) =>
          (await say(client, [{ query, values }]))[0] ?? []
        const session = {
          tx,
          opened,
          query,
          ...(savepoint !== undefined && { undoable: undoneTo(tx, query, savepoint) }),
          last: (last: Last) => {
            leaving.last = last
          },
          seal: () => {
            progress.stage = 'sealed'
          },
        }
        const result = await lost.orElse(body(session)).catch(async (error: unknown) => {
          await rolledBack(error)
          throw error
        })
        await committed(client, leaving.last).catch(async (error: unknown) => {
          // Whatever else went wrong, COMMIT may still be under way.
          if (isReusable(error)) await rolledBack(error)
          throw error
        })
        isUsable = true
        return result
      } finally {
        progress.stage = 'over'
        // A connection that still owes an answer is closed, never asked to cancel: that could undo a commit's wait.
        if (!isUsable) client.on('error', ignore)
        client.off('error', lost.report)
        client.release(!isUsable)
      }
    },
  }
}

/** Waits, longer than anybody else, for an answer that is late, and says whether the connection is good again. */
async function answeredAtLast(asked: Promise<unknown>, over: AbortSignal): Promise<boolean> {
  const never = sleep(systemClock, postgresBounds.lateMs, over).then(no)
  return Promise.race([asked.then(yes, isReusable), never])
}

/** Says that a connection is lost, to whoever waits for something else. */
function loss() {
  let reject: (error: Error) => void = ignore
  let lost: Error | undefined
  return {
    report(error: Error): void {
      lost ??= storeError(error)
      reject(lost)
    },
    isReported: () => lost !== undefined,
    orElse: <T>(awaited: Promise<T>) =>
      new Promise<T>((resolve, rejected) => {
        reject = rejected
        if (lost !== undefined) reject(lost)
        awaited.then(resolve, rejected)
      }),
  }
}

/** Watches the handler's statements. */
function silenceWatch(use: ConnectionUse, report: (error: Error) => void): (asked: Promise<unknown>) => void {
  const silence = silenceOf(use, () => report(lateStatement(use)))
  return (asked) => {
    silence.owes()
    asked.then(silence.answered, silence.answered)
  }
}

/**
 * The connection as the application gets it. It goes back to the pool, where the next one to use it must not find
 * statements of a handler that went on after its transaction was over.
 */
export function guarded<Client extends Pick<PgClient, 'query'>>(
  client: Client,
  maySend: () => boolean,
  watched: (asked: Promise<unknown>) => void = () => undefined,
): Client {
  const query = (...given: Parameters<Client['query']>) => {
    if (!maySend()) return refused(given)
    const asked: unknown = Reflect.apply(client.query, client, given)
    if (asked instanceof Promise) watched(asked)
    return asked
  }
  return new Proxy(client, {
    get: (target, name) => (name === 'query' ? query : Reflect.get(target, name)),
  })
}

/** As this library tells it: to a callback where one was given, by a promise, or at once where a cursor was handed in. */
function refused([first, ...rest]: readonly unknown[]): Promise<never> | undefined {
  if (typeof (first as { submit?: unknown } | undefined)?.submit === 'function') throw endedTransaction()
  const last = rest.at(-1)
  if (typeof last !== 'function') return Promise.reject(endedTransaction())
  last(endedTransaction())
  return undefined
}

/** The rows of each statement, by the names of their columns. */
function gaveOf(asked: readonly Asked[], heard: readonly Heard[]): Gave {
  return heard.map((rows, index) => rows.map((row) => named((asked[index] as Asked).query, row)))
}

/** As PostgreSQL spells it: an application's own parsers are not for our columns. */
const raw = { rowMode: 'array', types: { getTypeParser: () => (value: string) => value } } as const

const begin = saying(`BEGIN ${isolation}`)
const commit = saying('COMMIT')
const rollback = saying('ROLLBACK')

type Config = Pick<PgQuery, 'text' | 'name'>

function configured({ text }: Query): Config {
  return { text }
}

/** A name stands for one text on a connection for ever, so it is made of the text. */
function namedConfigs(): (query: Query) => Config {
  const configs = new Map<string, Config>()
  const uses = new Map<string, number>()

  /** How often the name of a young statement has changed. */
  function ageOf(text: string): number {
    const count = (uses.get(text) ?? 0) + 1
    uses.set(text, count)
    return renamedAfter.filter((bound) => count > bound).length
  }

  function configOf(text: string, name: string): Config {
    const known = configs.get(name)
    if (known !== undefined) return known
    const digest = createHash('sha256').update(name).digest('hex').slice(0, 32)
    const config = { text, name: `hapax_${digest}` }
    configs.set(name, config)
    return config
  }

  return (query) => {
    const { text, plan } = query
    if (plan === 'fresh') return configured(query)
    return configOf(text, plan === 'young' ? `${text} ${ageOf(text)}` : text)
  }
}

/** Uses of a young statement: by the last of them a table that was empty is no longer small. */
const renamedAfter = [8, 64, 512, 4_096]

function ignore(): void {}

const yes = () => true
const no = () => false
