/** What serving does to each table: the rights that it needs, and how row security knows whose a row is. */
export interface ServedTable {
  readonly name: string
  readonly rights: readonly ('SELECT' | 'INSERT' | 'UPDATE' | 'DELETE')[]
  /**
   * `scope`: a row belongs to the scope that it names. `workers`: only whoever serves every scope sees it. `none`: whoever
   * serves at all.
   */
  readonly seenBy: 'scope' | 'workers' | 'none'
}

export const servedTables: readonly ServedTable[] = [
  { name: 'records', rights: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'], seenBy: 'scope' },
  { name: 'calls', rights: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'], seenBy: 'scope' },
  // A provider names a downstream key, and nobody knows yet whose that is. Handlers have no business here.
  { name: 'testimonies', rights: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'], seenBy: 'workers' },
  { name: 'effects', rights: ['SELECT', 'INSERT', 'DELETE'], seenBy: 'scope' },
  { name: 'effect_states', rights: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'], seenBy: 'scope' },
  // Names of events and nothing of what they say. They come before anybody knows a scope.
  { name: 'webhook_events', rights: ['SELECT', 'INSERT', 'DELETE'], seenBy: 'none' },
  // Append only: whoever serves adds to it, and may change nothing of it.
  { name: 'audit', rights: ['SELECT', 'INSERT'], seenBy: 'workers' },
  { name: 'audit_head', rights: ['SELECT', 'INSERT', 'UPDATE'], seenBy: 'workers' },
]

/** Those that row security is about. */
export const securedTables = servedTables.filter(({ seenBy }) => seenBy !== 'none')
