import { compareNames, endRank, lengthAt, rankAt, ranks } from './canonical-names.js'

/** Some of the names, all alike up to `offset` from their opening quote. */
interface Alike {
  readonly from: number
  readonly to: number
  readonly offset: number
}

/** Fewer than this are sorted by comparing them with one another. */
const few = 64

/**
 * Sorts items by their names and says whether two are the same. `startOf` tells where the name of an item stands in the
 * bytes. Many names are dealt into piles by what stands at one place, and each pile by what stands at the next: however
 * alike a hostile caller makes them, the time stays in proportion to the text.
 */
export function sortByName(
  items: Int32Array,
  bytes: Uint8Array,
  startOf: (item: number) => number,
): 'unique' | 'duplicate' {
  let found: 'unique' | 'duplicate' = 'unique'
  const compare = (a: number, b: number) => {
    const difference = compareNames(bytes, startOf(a), startOf(b))
    if (difference === 0) found = 'duplicate'
    return difference
  }
  const piles: Alike[] = [{ from: 0, to: items.length, offset: 1 }]
  for (let pile = piles.pop(); pile !== undefined; pile = piles.pop()) {
    const { from, to, offset } = pile
    const pileItems = items.subarray(from, to)
    if (to - from < few) {
      pileItems.sort(compare)
      continue
    }
    const ends = deal(pileItems, (item) => rankAt(bytes, startOf(item) + offset))
    if ((ends[endRank] ?? 0) > 1) found = 'duplicate'
    for (let rank = endRank + 1; rank < ranks; rank += 1) {
      const start = ends[rank - 1] ?? 0
      const end = ends[rank] ?? 0
      if (end - start < 2) continue
      const length = lengthAt(bytes, startOf(pileItems[start] ?? 0) + offset)
      piles.push({ from: from + start, to: from + end, offset: offset + length })
    }
  }
  return found
}

/** Puts the items in the order of their ranks, and answers where each rank ends. */
function deal(items: Int32Array, rankOf: (item: number) => number): Int32Array {
  const ends = new Int32Array(ranks)
  for (const item of items) {
    const rank = rankOf(item)
    ends[rank] = (ends[rank] ?? 0) + 1
  }
  for (let rank = 1; rank < ranks; rank += 1) ends[rank] = (ends[rank] ?? 0) + (ends[rank - 1] ?? 0)
  const places = ends.slice()
  for (const item of items.slice()) {
    const place = (places[rankOf(item)] ?? 0) - 1
    places[rankOf(item)] = place
    items[place] = item
  }
  return ends
}
