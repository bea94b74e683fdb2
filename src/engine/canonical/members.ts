import { compareNames } from './names.js'
import { sortNames } from './sort.js'
import { type JsonNode, type JsonTree, none } from './tree.js'

/** The members of an object: their order, and finding and dropping one by its name. */

export function compareMembers(tree: JsonTree, a: JsonNode, b: JsonNode): number {
  return compareNames(tree.draft.bytes, tree.nameStartOf(a), tree.nameStartOf(b))
}

/** Links the members of an object in the order of their names. */
export function sortMembers(tree: JsonTree, object: JsonNode): 'unique' | 'duplicate' {
  const members: JsonNode[] = []
  const starts: number[] = []
  for (let member = tree.firstOf(object); member !== none; member = tree.nextOf(member)) {
    members.push(member)
    starts.push(tree.nameStartOf(member))
  }
  const { order, found } = sortNames(tree.draft.bytes, starts)
  let last = none
  for (const index of order) {
    const member = members[index] as JsonNode
    tree.link(object, last, member)
    last = member
  }
  tree.link(object, last, none)
  return found
}

/** `spelled` is the name as a canonical JSON string. */
export function memberNamed(tree: JsonTree, object: JsonNode, spelled: Uint8Array): JsonNode | undefined {
  for (let member = tree.firstOf(object); member !== none; member = tree.nextOf(member)) {
    if (isNamed(tree, member, spelled)) return member
  }
  return undefined
}

export function dropMember(tree: JsonTree, object: JsonNode, dropped: JsonNode): void {
  let last = none
  for (let member = tree.firstOf(object); member !== none; member = tree.nextOf(member)) {
    if (member === dropped) tree.link(object, last, tree.nextOf(member))
    else last = member
  }
}

function isNamed(tree: JsonTree, member: JsonNode, spelled: Uint8Array): boolean {
  const name = tree.draft.bytes.subarray(tree.nameStartOf(member), tree.nameEndOf(member))
  return Buffer.compare(name, spelled) === 0
}
