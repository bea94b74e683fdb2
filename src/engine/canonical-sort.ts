import { compareNames, endRank, lengthAt, rankAt, ranks } from './canonical-names.js'

/** Some of the names, all alike up to `offset` from their opening quote. */
interface Pile {
  readonly from: number
  readonly to: number
  readonly offset: number
}

/** Fewer than this are sorted by comparing them with one another. */
const few = 64

/**
 * Sorts names, given by where they start in the bytes, and says in which order to take them. Many names are dealt into
 * piles by what stands at one place, and each pile by what stands at the next: however alike a hostile caller makes
 * them, the time stays in proportion to the text.
 */
export function sortNames(bytes: Uint8Array, starts: Int32Array): { order: Int32Array; found: 'unique' | 'duplicate' } {
  const order = starts.map((_, index) => index)
  let found: 'unique' | 'duplicate' = 'unique'
  const compare = (a: number, b: number) => {
    const difference = compareNames(bytes, starts[a] as number, starts[b] as number)
    if (difference === 0) found = 'duplicate'
    return difference
  }
  const piles: Pile[] = [{ from: 0, to: order.length, offset: 1 }]
  for (let pile = piles.pop(); pile !== undefined; pile = piles.pop()) {
    const names = order.subarray(pile.from, pile.to)
    if (names.length < few) {
      names.sort(compare)
      continue
    }
    const ends = deal(names, bytes, starts, pile.offset)
    if ((ends[endRank] ?? 0) > 1) found = 'duplicate'
    for (let rank = endRank + 1; rank < ranks; rank += 1) {
      const [from, to] = [ends[rank - 1] ?? 0, ends[rank] ?? 0]
      if (to - from < 2) continue
      const length = lengthAt(bytes, (starts[names[from] as number] as number) + pile.offset)
      piles.push({ from: pile.from + from, to: pile.from + to, offset: pile.offset + length })
    }
  }
  return { order, found }
}

/** Puts the names in the order of what stands at the offset, and answers where each rank ends. */
function deal(names: Int32Array, bytes: Uint8Array, starts: Int32Array, offset: number): Int32Array {
  const ends = new Int32Array(ranks)
  const ranked = new Uint8Array(names.length)
  for (let at = 0; at < names.length; at += 1) {
    const rank = rankAt(bytes, (starts[names[at] as number] as number) + offset)
    ranked[at] = rank
    ends[rank] = (ends[rank] as number) + 1
  }
  const allAlike = ends[ranked[0] as number] === names.length
  for (let rank = 1; rank < ranks; rank += 1) ends[rank] = (ends[rank] as number) + (ends[rank - 1] as number)
  if (allAlike) return ends
  const places = ends.slice()
  const dealt = names.slice()
  for (let at = 0; at < dealt.length; at += 1) {
    const rank = ranked[at] as number
    const place = (places[rank] as number) - 1
    places[rank] = place
    names[place] = dealt[at] as number
  }
  return ends
}
