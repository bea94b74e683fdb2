import { sqliteBounds } from '../../kernel/limits.js'
import type { Gate } from './gate.js'

/**
 * When a process exits, Node terminates its threads. Those of this store are first let out of libsql, or else a
 * plain `process.exit()` could end in an abort.
 */
const gates = new Set<Gate>()

/** Guards this gate until the function returned is called. */
export function guardExit(gate: Gate): () => void {
  if (gates.size === 0) process.on('exit', letOut)
  gates.add(gate)
  return () => {
    gates.delete(gate)
    if (gates.size === 0) process.off('exit', letOut)
  }
}

function letOut(): void {
  for (const gate of gates) gate.close()
  for (const gate of gates) gate.waitForExit(sqliteBounds.answerMs)
}
