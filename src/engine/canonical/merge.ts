import { differenceAt, firstDifference } from './names.js'
import { type JsonNode, type JsonTree, none } from './tree.js'

/**
 * Links `count` members, from `first` on, in the order of their names, and answers which comes first; or finds two of
 * one name.
 *
 * It never compares two names from their beginning again. Of each member in a run it knows how far its name is like
 * the one before; of two members, the one whose name is more like the last one taken comes next, and only where both
 * are equally like it are bytes read, from there on.
 */
export function mergeMembers(tree: JsonTree, first: JsonNode, count: number): JsonNode | 'duplicate' {
  const runs = new Runs(tree, first)
  const sorted = runs.take(count)
  return runs.found === 'duplicate' ? 'duplicate' : sorted
}

class Runs {
  found: 'unique' | 'duplicate' = 'unique'
  readonly #tree: JsonTree
  /** The first member that is in no run yet. */
  #rest: JsonNode

  constructor(tree: JsonTree, first: JsonNode) {
    this.#tree = tree
    this.#rest = first
  }

  /** Makes a run of as many members, and answers the first of it. */
  take(count: number): JsonNode {
    if (count > 1) return this.#merge(this.take(count >> 1), this.take((count + 1) >> 1))
    const member = this.#rest
    this.#rest = this.#tree.nextOf(member)
    this.#tree.setNext(member, none)
    return member
  }

  #merge(run: JsonNode, other: JsonNode): JsonNode {
    let left = run
    let right = other
    let first = none
    let last = none
    while (left !== none && right !== none) {
      const member = this.#earlier(left, right)
      if (member === left) left = this.#tree.nextOf(left)
      else right = this.#tree.nextOf(right)
      if (last === none) first = member
      else this.#tree.setNext(last, member)
      last = member
    }
    this.#tree.setNext(last, left === none ? right : left)
    return first
  }

  /** Which of two comes next. From then on, the likeness of the other is to that one. */
  #earlier(left: JsonNode, right: JsonNode): JsonNode {
    const tree = this.#tree
    const likeness = tree.likenessOf(left)
    if (likeness !== tree.likenessOf(right)) return likeness > tree.likenessOf(right) ? left : right
    const { bytes } = tree.draft
    const name = tree.nameStartOf(left)
    const other = tree.nameStartOf(right)
    const place = firstDifference(bytes, name, other, likeness)
    const difference = differenceAt(bytes, name, other, place)
    if (difference === 0) this.found = 'duplicate'
    tree.setLikeness(difference > 0 ? left : right, place)
    return difference > 0 ? right : left
  }
}
