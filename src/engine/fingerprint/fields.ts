import { dropMember, memberNamed } from '../canonical/members.js'
import { type JsonNode, type JsonTree, root } from '../canonical/tree.js'

/** Where a field is: `'destination.ref'`, or its names one by one when a name holds a dot. */
export type FieldPath = string | readonly string[]

export function namesOf(path: FieldPath): readonly string[] {
  return typeof path === 'string' ? path.split('.') : path
}

/** Each path once, and in one order: how a policy lists its fields does not matter. */
export function sortedPaths(paths: readonly FieldPath[]): readonly (readonly string[])[] {
  const spelled = new Set(paths.map((path) => JSON.stringify(namesOf(path))))
  return [...spelled].sort().map((path): readonly string[] => JSON.parse(path))
}

/** What stands at a path. `depth` is smaller than the path is long when something that is no object was in the way. */
export interface Field {
  readonly value: JsonNode
  readonly depth: number
}

/**
 * Follows a path from the root. Something in the way that is not an object, an array for one, is taken whole: a path
 * that does not fit the body then compares too much and never too little.
 */
export function fieldAt(tree: JsonTree, path: readonly string[]): Field | undefined {
  let value = root
  for (const [depth, name] of path.entries()) {
    if (!tree.isObject(value)) return { value, depth }
    const member = memberNamed(tree, value, spelled(name))
    if (member === undefined) return undefined
    value = member
  }
  return { value, depth: path.length }
}

/** Drops what stands at the path. A path that leads nowhere, or through an array, drops nothing. */
export function dropField(tree: JsonTree, path: readonly string[]): void {
  const parent = fieldAt(tree, path.slice(0, -1))
  const field = fieldAt(tree, path)
  if (parent !== undefined && field?.depth === path.length) dropMember(tree, parent.value, field.value)
}

function spelled(name: string): Uint8Array {
  return Buffer.from(JSON.stringify(name))
}
