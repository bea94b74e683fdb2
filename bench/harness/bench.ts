import type { Need } from './needs.js'
import type { Table } from './table.js'

/** Something that is measured. */
export interface Bench {
  readonly name: string
  /** What it measures: half a sentence, for the list of all. */
  readonly measures: string
  /** How, and what is compared with what: for its help and its page. */
  readonly how: string
  /** What it installs where it is missing. */
  readonly needs: readonly Need[]
  /** How often what is compared takes turns, and for how long each. */
  readonly turns: Turns
  readonly run: (asked: Asked) => Promise<Measured>
}

export interface Turns {
  readonly rounds: number
  readonly seconds: number
}

export interface Asked extends Turns {
  /** For whoever waits. */
  readonly say: (line: string) => void
}

export interface Measured {
  /** By name, each of what was measured in one run. The aims are about them. */
  readonly ratios: Readonly<Record<string, number>>
  readonly tables: readonly Table[]
  /** Of the servers and packages that took part. */
  readonly versions: Readonly<Record<string, string>>
  /** What else a reader must know: who could not take part, and why. */
  readonly remarks: readonly string[]
  /** Where something must not be slower than a bound: that it is. */
  readonly failure?: string
}
