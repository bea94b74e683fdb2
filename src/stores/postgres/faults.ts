import { HapaxError, isHapaxError } from '../../kernel/errors.js'

/** What PostgreSQL or its driver threw, as a HapaxError that says what to do. */
export function storeError(error: unknown): HapaxError {
  if (isHapaxError(error)) return error
  const said = error instanceof Error ? error.message : String(error)
  const { code, say } = advice(sqlStateOf(error))
  return new HapaxError(code, `${say} (${said})`, { cause: error })
}

interface Advice {
  readonly code: 'store_failed' | 'store_busy' | 'store_unreachable'
  readonly say: string
}

function advice(state: string): Advice {
  if (state === '42501')
    return { code: 'store_unreachable', say: 'This role may not do that. Grant it the rights of serving.' }
  if (state === '25006') return { code: 'store_unreachable', say: 'This server is read-only. Connect to the primary.' }
  if (state === '42P01' || state === '3F000')
    return {
      code: 'store_unreachable',
      say: 'The schema is missing. Run migratePostgres({ pool }) with a role that may create it.',
    }
  if (state === '40001' || state === '40P01' || state === '55P03')
    return { code: 'store_busy', say: 'Another transaction was in the way. Try again.' }
  return { code: 'store_failed', say: 'PostgreSQL refused it, or the connection was lost.' }
}

export function sqlStateOf(error: unknown): string {
  const { code } = error instanceof Error ? (error as { code?: unknown }) : {}
  return typeof code === 'string' ? code : ''
}

/** Without a state of PostgreSQL's own, or with one of class 08 or 57P: the connection is gone. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlStateOf(error)
  if (/^(08|57P)/.test(state) || state.startsWith('ECONN') || state === 'EPIPE') return true
  return error instanceof Error && /connection (terminated|ended|closed)|not queryable/i.test(error.message)
}
