/** A JSON value in its canonical spelling. An object also knows its members, in the order of their names. */
export interface JsonNode {
  readonly text: string
  readonly members?: readonly JsonMember[]
}

export interface JsonMember {
  readonly name: string
  /** The name as a canonical JSON string. */
  readonly spelled: string
  readonly value: JsonNode
}

export function memberOf(spelled: string, value: JsonNode): JsonMember {
  return { name: spelled.includes('\\') ? JSON.parse(spelled) : spelled.slice(1, -1), spelled, value }
}

/** Sorts by UTF-16 code units, which is how ECMAScript compares strings and what RFC 8785 asks for. */
export function sortMembers(members: JsonMember[]): 'unique' | 'duplicate' {
  if (ascending(members)) return 'unique'
  members.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  return ascending(members) ? 'unique' : 'duplicate'
}

function ascending(members: readonly JsonMember[]): boolean {
  return members.every((member, index) => index === 0 || (members[index - 1] as JsonMember).name < member.name)
}

/**
 * Objects and arrays are put together by concatenation and not by `join`: the engine then keeps references to the
 * parts and copies them once, at the very end, where joining would copy the innermost text once per level.
 */
export function objectNode(members: readonly JsonMember[]): JsonNode {
  let text = '{'
  for (const { spelled, value } of members) text += `${text.length === 1 ? '' : ','}${spelled}:${value.text}`
  return { text: `${text}}`, members }
}

export function arrayNode(items: readonly JsonNode[]): JsonNode {
  let text = '['
  for (const { text: item } of items) text += text.length === 1 ? item : `,${item}`
  return { text: `${text}]` }
}
