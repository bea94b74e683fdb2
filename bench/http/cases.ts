import { aims } from '../aims.js'
import type { Turns } from '../harness/bench.js'
import type { Settings } from './server.mjs'

/** Requests of one kind, size and number. */
export interface Case {
  readonly keys: 'new' | 'replays' | 'conflicts'
  readonly callers: number
  readonly bodyBytes: number
}

export type SiteName = Settings['site']

/** The usual size goes without saying. */
const usualBytes = 200

export const sizes: readonly number[] = [usualBytes, 2_000, 20_000]

export function casesOf(bodyBytes: number): readonly Case[] {
  return (['new', 'replays', 'conflicts'] as const).flatMap((keys) =>
    [1, 64, 256].map((callers) => ({ keys, callers, bodyBytes })),
  )
}

/** Who takes part in each case; and those with other settings where that says most. */
const always: readonly SiteName[] = ['bare', 'postgres', 'pglite', 'memory']
const besides: Readonly<Record<string, SiteName>> = {
  'new@1': 'pooler',
  'new@256': 'pooler',
  'replays@64': 'uncached',
}

export function sitesOf(one: Case): readonly SiteName[] {
  const other = besides[labelOf(one)]
  return other === undefined ? always : [...always, other]
}

/** What an aim is about has all of its turns; the others have half of them, half as long, so that nobody waits for an hour. */
export function turnsOf(one: Case, { rounds, seconds }: Turns): Turns {
  const isAimedAt = aims.some(({ bench, ratio }) => bench === 'http' && ratio.startsWith(`${labelOf(one)} `))
  return isAimedAt ? { rounds, seconds } : { rounds: Math.ceil(rounds / 2), seconds: seconds / 2 }
}

export function labelOf({ keys, callers, bodyBytes }: Case): string {
  return `${keys}@${callers}${bodyBytes === usualBytes ? '' : ` ${sizeOf(bodyBytes)}`}`
}

export function sizeOf(bytes: number): string {
  return bytes < 1_000 ? `${bytes} B` : `${bytes / 1_000} KB`
}
