import { type JsonMember, type JsonNode, objectNode } from './canonical-node.js'

/** Where a field is: `'destination.ref'`, or its names one by one when a name holds a dot. */
export type FieldPath = string | readonly string[]

export function namesOf(path: FieldPath): readonly string[] {
  return typeof path === 'string' ? path.split('.') : path
}

/** What stands at a path. */
export type Found =
  | { readonly kind: 'absent' }
  /** `depth` names were followed; fewer than the path has when something that is not an object stood in the way. */
  | { readonly kind: 'present'; readonly depth: number; readonly text: string }

/**
 * Follows a path from the root. Something in the way that is not an object, an array for one, is taken whole: a path
 * that does not fit the body then compares too much and never too little.
 */
export function fieldAt(root: JsonNode, path: readonly string[]): Found {
  let node = root
  for (const [depth, name] of path.entries()) {
    if (node.members === undefined)
      return depth === 0 ? { kind: 'absent' } : { kind: 'present', depth, text: node.text }
    const value = memberNamed(node.members, name)
    if (value === undefined) return { kind: 'absent' }
    node = value
  }
  return { kind: 'present', depth: path.length, text: node.text }
}

function memberNamed(members: readonly JsonMember[], name: string): JsonNode | undefined {
  return members.find((member) => member.name === name)?.value
}

/** The same value without what stands at the path. A path that leads nowhere, or through an array, leaves all as it is. */
export function without(node: JsonNode, path: readonly string[]): JsonNode {
  const [name, ...rest] = path
  if (node.members === undefined || name === undefined) return node
  const members: JsonMember[] = []
  for (const member of node.members) {
    if (member.name !== name) members.push(member)
    else if (rest.length > 0) members.push({ ...member, value: without(member.value, rest) })
  }
  return objectNode(members)
}
