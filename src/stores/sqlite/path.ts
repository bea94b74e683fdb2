import { resolve } from 'node:path'
import { HapaxError } from '../../kernel/errors.js'

const url = /^(file:|sqlite:|[a-z][a-z0-9+.-]*:\/\/)/i

/** The path of a database file, made absolute so that a later change of directory changes nothing. */
export function sqlitePath(path: string): string {
  if (typeof path !== 'string' || path === '' || path === ':memory:' || url.test(path)) {
    const what = `${JSON.stringify(path)} is not the path of a file.`
    throw new HapaxError('store_unknown', `${what} Give one like '.data/hapax.db'; for memory use hapax/memory.`)
  }
  return resolve(path)
}
