import { hash } from 'node:crypto'

/**
 * One step of the store as Lua, which Redis runs as one: nobody sees it half done. What each begins with says what it does,
 * what its KEYS and ARGV are and what it gives.
 */
export interface Script {
  readonly name: string
  readonly lua: string
  /** By what Redis knows it once it has seen it. */
  readonly sha: string
}

/** `parts` are the fragments that it stands on, and the step itself last. */
export function script(name: string, ...parts: readonly string[]): Script {
  const lua = parts.join('\n')
  return { name, lua, sha: hash('sha1', lua, 'hex') }
}
