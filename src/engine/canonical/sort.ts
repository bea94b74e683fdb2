import { compareNames, endRank, lengthAt, rankAt, ranks } from './names.js'

/** Some of the names, from one place in the list to another, all alike up to `offset` from their opening quote. */
interface Pile {
  readonly from: number
  readonly to: number
  readonly offset: number
}

/** Fewer than this are sorted by comparing them with one another. */
const few = 32

/**
 * Sorts names, each given by where it starts in the bytes, and says in which order to take them. Many names are dealt
 * into piles by what stands at one place, and each pile by what stands at the next: however alike a hostile caller
 * makes them, the time stays in proportion to the text.
 */
export function sortNames(bytes: Uint8Array, starts: readonly number[]): NameOrder {
  const sorter = new NameSorter(bytes, starts)
  const piles: Pile[] = [{ from: 0, to: starts.length, offset: 1 }]
  for (let pile = piles.pop(); pile !== undefined; pile = piles.pop()) {
    if (pile.to - pile.from < few) sorter.insert(pile)
    else sorter.deal(pile, piles)
  }
  return sorter
}

export interface NameOrder {
  /** The numbers of the names, in the order of the names. */
  readonly order: readonly number[]
  readonly found: 'unique' | 'duplicate'
}

class NameSorter implements NameOrder {
  readonly order: number[]
  found: 'unique' | 'duplicate' = 'unique'
  readonly #bytes: Uint8Array
  readonly #starts: readonly number[]

  constructor(bytes: Uint8Array, starts: readonly number[]) {
    this.#bytes = bytes
    this.#starts = starts
    this.order = starts.map((_, index) => index)
  }

  /** Puts each name of the pile in its place among those before it. */
  insert({ from, to }: Pile): void {
    const { order } = this
    for (let next = from + 1; next < to; next += 1) {
      const name = order[next] as number
      let place = next
      while (place > from && this.#compare(order[place - 1] as number, name) > 0) {
        order[place] = order[place - 1] as number
        place -= 1
      }
      order[place] = name
    }
  }

  /** Puts the pile in the order of what stands at its offset, and adds the smaller piles that it falls into. */
  deal({ from, to, offset }: Pile, piles: Pile[]): void {
    const names = this.order.slice(from, to)
    const ends = this.#endsOfRanks(names, offset)
    const first = this.#rank(names[0] as number, offset)
    const allAlike = ends[first] === names.length && (ends[first - 1] ?? 0) === 0
    if (!allAlike) this.#place(names, ends, from, offset)
    if ((ends[endRank] as number) > 1) this.found = 'duplicate'
    for (let rank = endRank + 1; rank < ranks; rank += 1) {
      const start = from + (ends[rank - 1] as number)
      const end = from + (ends[rank] as number)
      if (end - start > 1) piles.push({ from: start, to: end, offset: offset + this.#lengthAt(start, offset) })
    }
  }

  #endsOfRanks(names: readonly number[], offset: number): Int32Array {
    const ends = new Int32Array(ranks)
    for (const name of names) {
      const rank = this.#rank(name, offset)
      ends[rank] = (ends[rank] as number) + 1
    }
    for (let rank = 1; rank < ranks; rank += 1) ends[rank] = (ends[rank] as number) + (ends[rank - 1] as number)
    return ends
  }

  #place(names: readonly number[], ends: Int32Array, from: number, offset: number): void {
    const places = ends.slice()
    for (const name of names) {
      const rank = this.#rank(name, offset)
      const place = (places[rank] as number) - 1
      places[rank] = place
      this.order[from + place] = name
    }
  }

  #compare(name: number, other: number): number {
    const difference = compareNames(this.#bytes, this.#starts[name] as number, this.#starts[other] as number)
    if (difference === 0) this.found = 'duplicate'
    return difference
  }

  #rank(name: number, offset: number): number {
    return rankAt(this.#bytes, (this.#starts[name] as number) + offset)
  }

  #lengthAt(place: number, offset: number): number {
    return lengthAt(this.#bytes, (this.#starts[this.order[place] as number] as number) + offset)
  }
}
