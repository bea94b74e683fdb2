/** What the server says, as drivers give it: the store reads the state and the severity. */
export function serverError(state: keyof typeof says, constraint?: string): Error {
  const message = constraint === undefined ? says[state] : `${says[state]} "${constraint}"`
  return Object.assign(new Error(message), { code: state, severity: 'ERROR' })
}

const says = {
  '23505': 'duplicate key value violates unique constraint',
  '25P02': 'current transaction is aborted, commands ignored until end of transaction block',
  '40P01': 'deadlock detected',
  '57014': 'canceling statement due to statement timeout',
} as const

/** What a driver says when the line breaks. */
export function brokenLine(): Error {
  return Object.assign(new Error('The line broke.'), { code: 'ECONNRESET' })
}
