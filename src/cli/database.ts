import { fileURLToPath } from 'node:url'
import { HapaxError } from '../kernel/errors.js'
import { usage } from './usage.js'

/** The database that a command works on. */
export type Database = SqliteDatabase | PostgresDatabase

export interface SqliteDatabase {
  readonly kind: 'sqlite'
  readonly path: string
}

export interface PostgresDatabase {
  readonly kind: 'postgres'
  /** May hold a password, and is never printed. */
  readonly url: string
  /** The same for people, without a password. */
  readonly label: string
}

/** How a command's help speaks of its argument. */
export const databaseArgument = 'postgres://<user>@<host>/<database>, or the path of a SQLite file'

const accepted =
  'Give postgres://<user>@<host>/<database>, or the path of a SQLite file, or sqlite:<path> or file:<path>.'

/** Reads what the command line names: a path, or a URL. */
export function databaseOf(text: string): Database {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase()
  switch (scheme) {
    case undefined:
      refuseConnectionWords(text)
      return { kind: 'sqlite', path: text }
    case 'sqlite':
      return { kind: 'sqlite', path: text.replace(/^sqlite:(\/\/)?/i, '') }
    case 'file':
      return { kind: 'sqlite', path: filePath(text) }
    case 'postgres':
    case 'postgresql':
      return { kind: 'postgres', url: text, label: labelOf(text) }
    case 'http':
    case 'https':
      throw new HapaxError('store_unknown', `This takes a database; an admin URL will not do. ${accepted}`)
    default:
      throw new HapaxError('store_unknown', `No store is known by the scheme "${scheme}:". ${accepted}`)
  }
}

/** `host=… password=…` is how psql may be told; taken for a path it would be created, and printed. */
function refuseConnectionWords(text: string): void {
  if (!/(^|\s)(host|hostaddr|port|user|dbname|password|service)\s*=/i.test(text)) return
  throw new HapaxError('store_unknown', `Words like host=… are not read here. ${accepted}`)
}

/** What only PostgreSQL has: whoever asks for it of a SQLite file expects something else. */
export function refuseForSqlite(flag: string, given: unknown): void {
  if (given === undefined) return
  throw usage(`A SQLite file knows no ${flag}. Leave it out, or give postgres://….`)
}

/** `file:///var/data.db` is a URL, `file:data.db` is a relative path. */
function filePath(text: string): string {
  if (!/^file:\/\//i.test(text)) return text.slice('file:'.length)
  try {
    return fileURLToPath(text)
  } catch (error) {
    throw new HapaxError('store_unknown', `${text} does not lead to a file on this machine. ${accepted}`, {
      cause: error,
    })
  }
}

/**
 * A password may also stand behind the question mark, so nothing after it is shown. A character of a password that
 * should have been encoded can make its rest look like the name of the database: such a URL is refused unseen.
 */
function labelOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^postgres(ql)?:\/\//i.test(text) || url.hash !== '' || url.pathname.includes('@')) {
    const advice = 'Special characters in a password are written with a percent sign, like %40 for @ and %2F for /.'
    throw new HapaxError('store_unknown', `This is no URL of a PostgreSQL database. ${accepted} ${advice}`)
  }
  const user = url.username === '' ? '' : `${url.username}@`
  return `postgres://${user}${url.host}${url.pathname}`
}
