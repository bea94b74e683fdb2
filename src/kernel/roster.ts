/** What may stand in a roster, one at a time. It knows its place there, so that nobody has to look for it. */
export interface Rostered {
  /** For the roster alone; `nowhere` while it stands in none. */
  place: number
}

export const nowhere = -1

/**
 * Those that are under way, in no order, where many come and go.
 *
 * Not a Set: one that is added to and deleted from all the time is copied again and again, and a copy that has grown old keeps
 * alive, until the next full collection of garbage, all that stood in it. So nearly every request outlived its time, and a
 * quarter of the processor's went into carrying them along (docs/internals/decisions/0034).
 */
export class Roster<One extends Rostered> {
  readonly #all: One[] = []

  get size(): number {
    return this.#all.length
  }

  add(one: One): void {
    one.place = this.#all.push(one) - 1
  }

  /** Whether it stood here. The last one takes its place. */
  remove(one: One): boolean {
    const { place } = one
    if (place === nowhere) return false
    one.place = nowhere
    const last = this.#all.pop()
    if (last !== undefined && last !== one) {
      this.#all[place] = last
      last.place = place
    }
    return true
  }

  clear(): void {
    for (const one of this.#all.splice(0)) one.place = nowhere
  }

  /** As they are now, whoever comes or goes meanwhile. */
  all(): readonly One[] {
    return [...this.#all]
  }
}
