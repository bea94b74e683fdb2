/** One worker, Hapax's or pg-boss, in a process of its own. */
import process from 'node:process'
import { answering } from '../harness/answering.mjs'
import { startedBoss } from './boss.mjs'
import { startedOutbox } from './outbox.mjs'

/** @typedef {{ url: string, who: 'hapax' | 'pg-boss', count: number, batch: number }} Settings */
/** @typedef {{ kind: 'write' | 'carry out' }} Wanted */
/**
 * @typedef {object} Worked what is to be done, and who does it
 * @property {(count: number) => Promise<void>} write
 * @property {(count: number, batch: number) => Promise<void>} carryOut until all are done
 */

/** @type {Settings} */
const { url, who, count, batch } = JSON.parse(process.argv[2] ?? '')
/** As many as each may use; neither asks for all of them. */
const connections = 8
const starting = who === 'hapax' ? startedOutbox(url, connections) : startedBoss(url, connections)

answering(async (/** @type {Wanted} */ { kind }) => {
  const worked = await starting
  if (kind === 'write') return worked.write(count)
  const startedAt = performance.now()
  await worked.carryOut(count, batch)
  return (count / (performance.now() - startedAt)) * 1_000
})
