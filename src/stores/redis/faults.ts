import { type ErrorCode, HapaxError } from '../../kernel/errors.js'

/** What Redis or a client library threw, as a HapaxError that says what to do. */
export function storeError(error: unknown): HapaxError {
  const said = error instanceof Error ? error.message || codeOf(error) : String(error)
  const known = advices.find(([pattern]) => pattern.test(said) || pattern.test(codeOf(error)))
  const { code, say } = known?.[1] ?? { code: 'store_failed', say: 'Redis refused it, or the connection was lost.' }
  return new HapaxError(code, `${say} (${said})`, { cause: error })
}

/** Redis knows no script by this hash, so that nothing has run. */
export function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

const advices: readonly (readonly [RegExp, { readonly code: ErrorCode; readonly say: string }])[] = [
  [/^READONLY/, { code: 'store_read_only', say: 'This is a replica. Connect to the primary.' }],
  [/^(NOAUTH|WRONGPASS)/, { code: 'store_unreachable', say: 'Redis refused the login. Check user and password.' }],
  [
    /^NOPERM|ACL failure/,
    {
      code: 'store_rights_missing',
      say: 'This user may not do that. Allow it the keys under the prefix, scripts, and what they call.',
    },
  ],
  [
    /^OOM/,
    {
      code: 'store_busy',
      say: 'Redis has no memory left; nothing happened. Give it more, or let the reaper catch up.',
    },
  ],
  [/^(BUSY|LOADING|TRYAGAIN|CLUSTERDOWN|MASTERDOWN)/, { code: 'store_busy', say: 'Redis is busy; nothing happened.' }],
  [
    /^CROSSSLOT/,
    { code: 'store_failed', say: 'The client changes keys on their way. Let it send the hash tag as it is.' },
  ],
  [
    /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH/,
    { code: 'store_unreachable', say: 'No server answers there. Check host and port.' },
  ],
  [
    /isn't writeable|client is (closed|offline)|connection is closed|max retries per request/i,
    { code: 'store_unreachable', say: 'The client is not connected.' },
  ],
]

function codeOf(error: unknown): string {
  const { code } = error instanceof Error ? (error as { code?: unknown }) : {}
  return typeof code === 'string' ? code : ''
}
