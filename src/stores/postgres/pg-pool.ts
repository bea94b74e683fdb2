import { createHash } from 'node:crypto'
import { systemClock, within } from '../../kernel/clock.js'
import { HapaxError } from '../../kernel/errors.js'
import type { SqlValue } from '../sql/row.js'
import {
  type Connections,
  type ConnectionUse,
  isolation,
  named,
  type Progress,
  type Query,
  type Row,
  transactionSettings,
} from './connections.js'
import { endedTransaction, isRefusal, lateStatement, storeError } from './faults.js'

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
  const bounded = <T>(promise: Promise<T>) =>
    within(systemClock, use.statementTimeoutMs, promise, () => lateStatement(use))

  const ask = async (client: Client, query: Query, values: readonly SqlValue[]): Promise<readonly Row[]> => {
    const { rows } = await bounded(client.query({ ...configOf(query), values: [...values] }))
    return (rows as (string | null)[][]).map((row) => named(query, row))
  }

  const say = (client: Client, text: string) => bounded(client.query({ text, ...raw }))

  async function connected(): Promise<Client> {
    const connecting = pool.connect()
    const client = await bounded(connecting).catch((error) => {
      connecting.then((late) => late.release()).catch(() => undefined)
      throw error
    })
    if (typeof client?.release === 'function') return client
    throw new HapaxError('store_unknown', 'This is a single pg Client. Give postgresStore a Pool: new pg.Pool({ … }).')
  }

  return {
    async query(query, values) {
      const client = await connected()
      // The statement itself says that a connection is lost. An event that nobody hears would end the process.
      client.on('error', ignore)
      let isUsable = false
      try {
        const rows = await ask(client, query, values)
        isUsable = true
        return rows
      } catch (error) {
        isUsable = isRefusal(error)
        throw error
      } finally {
        client.off('error', ignore)
        client.release(!isUsable)
      }
    },

    async transaction(body) {
      const client = await connected()
      let onLost: (error: Error) => void = ignore
      const lost = new Promise<never>((_, reject) => {
        onLost = (error) => reject(storeError(error))
      })
      lost.catch(ignore)
      client.on('error', onLost)
      const progress: Progress = { stage: 'open' }
      let isUsable = false
      try {
        await say(client, `BEGIN ${isolation}; ${transactionSettings(use)}`)
        const session = {
          tx: guarded(client, progress),
          query: (query: Query, values: readonly SqlValue[]) => ask(client, query, values),
          seal: () => {
            progress.stage = 'sealed'
          },
        }
        const result = await Promise.race([body(session), lost]).catch(async (error: unknown) => {
          isUsable = await say(client, 'ROLLBACK').then(
            () => true,
            () => false,
          )
          throw error
        })
        await say(client, 'COMMIT')
        isUsable = true
        return result
      } finally {
        progress.stage = 'over'
        // A connection that still owes an answer is closed, never asked to cancel: that could undo a commit's wait.
        client.on('error', ignore)
        client.off('error', onLost)
        client.release(!isUsable)
        if (isUsable) client.off('error', ignore)
      }
    },
  }
}

/**
 * The connection as the application gets it. It goes back to the pool, where the next one to use it must not find
 * statements of a handler that went on after its transaction was over.
 */
function guarded<Client extends PgClient>(client: Client, progress: Progress): Client {
  const query = (...given: Parameters<Client['query']>) =>
    progress.stage === 'open' ? Reflect.apply(client.query, client, given) : Promise.reject(endedTransaction())
  return new Proxy(client, {
    get: (target, name) => (name === 'query' ? query : Reflect.get(target, name)),
  })
}

/** As PostgreSQL spells it: an application's own parsers are not for our columns. */
const raw = { rowMode: 'array', types: { getTypeParser: () => (value: string) => value } } as const

function configured({ text }: Query): PgQuery {
  return { text, ...raw }
}

/** A name stands for one text on a connection for ever, so it is made of the text. */
function namedConfigs(): (query: Query) => PgQuery {
  const configs = new Map<string, PgQuery>()
  return (query) => {
    const { text } = query
    if (query.plan === 'fresh') return configured(query)
    const known = configs.get(text)
    if (known !== undefined) return known
    const name = `hapax_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
    const config = { text, name, ...raw }
    configs.set(text, config)
    return config
  }
}

function ignore(): void {}
