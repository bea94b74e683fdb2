import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Engine, engine } from '../engine/engine.js'
import { consoleLog, type Log } from '../kernel/log.js'
import { postgresStore } from '../stores/postgres/index.js'
import { sqliteStore } from '../stores/sqlite/index.js'
import { databaseOf, refuseForSqlite } from './database.js'
import { withPostgres } from './postgres.js'
import { usage } from './usage.js'

/** What a command works with. `module`: the application's own engine, with its operations and effects. `database`: no code. */
export interface OpenEngine {
  readonly kind: 'module' | 'database'
  readonly label: string
  readonly hapax: Engine<unknown>
}

/** How a command's help speaks of its argument. */
export const engineArgument = 'a module that exports the engine, like ./dist/hapax.js, or a database'

/** Uses the engine of a module, or one of our own on a database, and closes it. */
export async function withEngine<T>(
  given: string,
  schema: string | undefined,
  use: (open: OpenEngine) => Promise<T>,
): Promise<T> {
  if (isModule(given)) {
    if (schema !== undefined) throw usage('A module knows its schema; leave --schema out.')
    return closing({ kind: 'module', label: given, hapax: await engineIn(given) }, use)
  }
  if (/^https?:\/\//i.test(given))
    throw usage('This takes a database, or a module that exports the engine; an admin URL will not do.')
  const database = databaseOf(given)
  if (database.kind === 'sqlite') {
    refuseForSqlite('--schema', schema)
    const hapax = engine({ store: sqliteStore({ path: database.path, migrate: 'never' }), log }) as Engine<unknown>
    return closing({ kind: 'database', label: database.path, hapax }, use)
  }
  const options = schema === undefined ? {} : { schema }
  return withPostgres(database, (pool) => {
    const hapax = engine({ store: postgresStore({ pool, ...options }), log }) as Engine<unknown>
    return closing({ kind: 'database', label: database.label, hapax }, use)
  })
}

/** That it cannot be opened is what the command ends with: it need not be said twice. */
const log: Log = (entry) => {
  if (!entry.message.startsWith('the store failed at "open"')) consoleLog(entry)
}

async function closing<T>(open: OpenEngine, use: (open: OpenEngine) => Promise<T>): Promise<T> {
  try {
    await open.hapax.open()
    return await use(open)
  } finally {
    await open.hapax.close()
  }
}

function isModule(given: string): boolean {
  return /\.[cm]?[jt]s$/.test(given) && !/^(postgres(ql)?|sqlite|file):/i.test(given)
}

async function engineIn(path: string): Promise<Engine<unknown>> {
  const module = await imported(path)
  const found = [module.hapax, module.default].find(isEngine)
  if (found !== undefined) return found
  throw usage(`${path} exports no engine. Export it: export const hapax = engine({ … }).`)
}

async function imported(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(pathToFileURL(resolve(path)).href)
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    throw usage(`${path} could not be loaded. (${said})`)
  }
}

/** By its shape: the module may have another copy of this package. */
function isEngine(value: unknown): value is Engine<unknown> {
  const { chores, execute } = (value ?? {}) as Partial<Engine<unknown>>
  return typeof chores?.sweep === 'function' && typeof execute === 'function'
}
