import type { Exchange, Reply } from './exchange.js'
import type { Profile } from './profile.js'

/**
 * A page of another origin sees no header of a reply that is not named to it. What tells it that an answer is a replay,
 * how long its key lives, when to come back and where to look is named wherever CORS is spoken.
 */
export function exposed<Tx>(reply: Reply, exchange: Pick<Exchange<Tx>, 'lines'>, { replayed }: Profile): Reply {
  if (exchange.lines('origin').length === 0) return reply
  const ours = new Set(['idempotency-key-expires', 'retry-after', 'location', ...replayed.map(([name]) => name)])
  const wanted = new Set([...ours].map((name) => name.toLowerCase()))
  const names = reply.headers.map(([name]) => name).filter((name) => wanted.has(name.toLowerCase()))
  if (names.length === 0) return reply
  return { ...reply, headers: [...reply.headers, ['Access-Control-Expose-Headers', names.join(', ')]] }
}
