import { readdirSync, readFileSync } from 'node:fs'
import type pg from 'pg'
import { takesPart } from './processor-ticks.js'

/** Begins to watch. What that gives tells the processor time that a server has taken since, in milliseconds. */
export type ServerTime = () => () => number

/**
 * Of the PostgreSQL behind this pool, where it runs on this machine and the machine has `/proc`; else NaN. What a process of it
 * took that has ended meanwhile is not known.
 */
export async function serverTime(pool: pg.Pool): Promise<ServerTime> {
  const { rows } = await pool.query('SELECT pg_backend_pid() AS pid')
  const server = parentOf(rows[0].pid)
  if (server === undefined) return () => () => Number.NaN
  takesPart(Number(server))
  const own = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === server)
  return () => {
    const before = new Map(own().map((process) => [process, runMs(process)]))
    return () => own().reduce((sum, process) => sum + runMs(process) - (before.get(process) ?? 0), 0)
  }
}

function parentOf(process: string | number): string | undefined {
  // Behind the name, which may hold anything: the state, and the parent.
  return read(`/proc/${process}/stat`)?.split(') ').at(-1)?.split(' ')[1]
}

/** The first number is that of nanoseconds on a processor. */
function runMs(process: string): number {
  return Number(read(`/proc/${process}/schedstat`)?.split(' ')[0] ?? 0) / 1_000_000
}

/** A process may be gone by now. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
