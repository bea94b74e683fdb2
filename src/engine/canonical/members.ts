import { type JsonNode, type JsonTree, none } from './tree.js'

/** The members of an object: finding and dropping one by its name. */

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
