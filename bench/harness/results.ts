import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/root.mjs'
import type { Judged } from '../aims.js'
import type { Measured } from './bench.js'
import type { Circumstances } from './machine.js'

/** One run of one bench: the line of JSON that it ends with. */
export interface Result extends Measured, Circumstances {
  readonly bench: string
  readonly command: string
  readonly aims: readonly Judged[]
}

const folder = join(root, 'bench', 'results')
const fileOf = (bench: string) => join(folder, `${bench}.jsonl`)

export function putOnRecord(result: Result): void {
  mkdirSync(folder, { recursive: true })
  appendFileSync(fileOf(result.bench), `${JSON.stringify(result)}\n`)
}

/** The last one is what docs show; the others say how it came about. */
export function onRecord(bench: string): readonly Result[] {
  if (!existsSync(fileOf(bench))) return []
  return readFileSync(fileOf(bench), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Result)
}
