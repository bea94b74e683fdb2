import { mergeMembers } from './merge.js'
import { endRank, firstDifference, nextPlace, rankAt, ranks } from './names.js'
import { type JsonNode, type JsonTree, none } from './tree.js'

/** Members linked in any order, whose names are alike up to a place. */
interface Pile {
  first: JsonNode
  count: number
  readonly place: number
}

/** Up to here merging is faster than dealing. */
const few = 32

/**
 * Links the members of an object in the order of their names. Many are dealt into piles by what stands at one place of
 * their names, and each pile by what stands at the next; few are merged. However alike a hostile caller makes the
 * names, the time stays in proportion to the text. Once two have the same name there is no order to find.
 */
export function sortMembers(tree: JsonTree, object: JsonNode): 'unique' | 'duplicate' {
  const piles = [pileOf(tree, object)]
  let last = none
  for (let pile = piles.pop(); pile !== undefined; pile = piles.pop()) {
    if (pile.count > few) {
      if (deal(tree, pile, piles) === 'duplicate') return 'duplicate'
      continue
    }
    const first = mergeMembers(tree, pile.first, pile.count)
    if (first === 'duplicate') return 'duplicate'
    tree.link(object, last, first)
    for (let member = first; member !== none; member = tree.nextOf(member)) last = member
  }
  return 'unique'
}

function pileOf(tree: JsonTree, object: JsonNode): Pile {
  const first = tree.firstOf(object)
  let count = 0
  for (let member = first; member !== none; member = tree.nextOf(member)) count += 1
  return { first, count, place: 0 }
}

/** Adds the smaller piles that a pile falls into. The one that comes first is then on top. */
function deal(tree: JsonTree, pile: Pile, piles: Pile[]): 'unique' | 'duplicate' {
  const place = endOfLikeness(tree, pile)
  const dealt = new Array<Pile | undefined>(ranks).fill(undefined)
  for (let member = pile.first, next = none; member !== none; member = next) {
    next = tree.nextOf(member)
    const name = tree.nameStartOf(member)
    const rank = rankAt(tree.draft.bytes, name, place)
    const smaller = dealt[rank] ?? { first: none, count: 0, place: nextPlace(tree.draft.bytes, name, place) }
    dealt[rank] = smaller
    tree.setNext(member, smaller.first)
    smaller.first = member
    smaller.count += 1
  }
  const ended = dealt[endRank]
  if (ended !== undefined && ended.count > 1) return 'duplicate'
  for (const smaller of dealt.reverse()) if (smaller !== undefined) piles.push(smaller)
  return 'unique'
}

/**
 * The first place where the names of a pile are not all alike. It looks twice as far each time, since reading two names
 * to the end of their likeness is wasted when a third differs early.
 */
function endOfLikeness(tree: JsonTree, { first, place }: Pile): number {
  let from = place
  for (let reach = 1; ; reach *= 2) {
    const end = likenessWithin(tree, first, from, from + reach)
    if (end < from + reach) return end
    from = end
  }
}

function likenessWithin(tree: JsonTree, first: JsonNode, from: number, to: number): number {
  const { bytes } = tree.draft
  const name = tree.nameStartOf(first)
  let end = to
  for (let member = tree.nextOf(first); member !== none; member = tree.nextOf(member)) {
    end = firstDifference(bytes, name, tree.nameStartOf(member), from, end)
  }
  return end
}
