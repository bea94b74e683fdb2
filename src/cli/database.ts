import { fileURLToPath } from 'node:url'
import { HapaxError } from '../kernel/errors.js'

/** The database that a command works on. */
export interface Database {
  readonly kind: 'sqlite'
  readonly path: string
}

const accepted = 'Give the path of a SQLite file, or the same as sqlite:<path> or file:<path>.'

/** Reads what the command line names: a path, or a URL. */
export function databaseOf(text: string): Database {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase()
  switch (scheme) {
    case undefined:
      return { kind: 'sqlite', path: text }
    case 'sqlite':
      return { kind: 'sqlite', path: text.replace(/^sqlite:(\/\/)?/i, '') }
    case 'file':
      return { kind: 'sqlite', path: filePath(text) }
    case 'postgres':
    case 'postgresql':
      throw new HapaxError('store_unknown', `Postgres is not available in this release yet. ${accepted}`)
    default:
      throw new HapaxError('store_unknown', `No store is known by the scheme "${scheme}:". ${accepted}`)
  }
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
