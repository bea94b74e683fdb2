import type { Draft } from './draft.js'
import { ascii } from './scan.js'

/** One value of a JSON text, by its place in the tree. The root is 0. */
export type JsonNode = number

export const root: JsonNode = 0

/** No node. The root is nobody's child and nobody's sibling, so its number is free to say so. */
export const none: JsonNode = 0

/** What is kept of each value: where it stands in the draft, its name if it is a member, its sibling and its child. */
const start = 0
const end = 1
const nameStart = 2
const nameEnd = 3
const next = 4
const first = 5
const likeness = 6
const width = 7

/** The room of a tree that nobody reads any more: a text takes longer to make room for than to read. */
let spare: Int32Array | undefined
const firstRoom = width * 512

/** Room for a value every four bytes, which is more than most texts hold. That of a text of more than 64 KB is let go of. */
const spareRoom = roomFor(64 * 1_024)

function roomFor(bytes: number): number {
  return width * (16 + (bytes >> 2))
}

/** The values of a JSON text and how they hang together. An object's members are linked in the order of their names. */
export class JsonTree {
  readonly draft: Draft
  #cells: Int32Array
  #used = 0

  constructor(draft: Draft) {
    this.draft = draft
    const room = roomFor(draft.length)
    if (room > spareRoom) {
      this.#cells = new Int32Array(room)
    } else {
      this.#cells = spare ?? new Int32Array(firstRoom)
      spare = undefined
    }
  }

  /** Leaves its room to the next tree. Whoever calls this has read all of it. */
  release(): void {
    if (this.#cells.length > spareRoom) return
    spare = this.#cells.fill(0, 0, this.#used)
    this.#used = 0
  }

  add(from: number, to: number): JsonNode {
    const node = this.#used
    this.#used += width
    if (this.#used > this.#cells.length) {
      const grown = new Int32Array(2 * this.#cells.length)
      grown.set(this.#cells)
      this.#cells = grown
    }
    this.#cells[node + start] = from
    this.#cells[node + end] = to
    return node
  }

  startOf(node: JsonNode): number {
    return this.#cells[node + start] as number
  }

  endOf(node: JsonNode): number {
    return this.#cells[node + end] as number
  }

  setEnd(node: JsonNode, to: number): void {
    this.#cells[node + end] = to
  }

  nameStartOf(node: JsonNode): number {
    return this.#cells[node + nameStart] as number
  }

  nameEndOf(node: JsonNode): number {
    return this.#cells[node + nameEnd] as number
  }

  setName(node: JsonNode, from: number, to: number): void {
    this.#cells[node + nameStart] = from
    this.#cells[node + nameEnd] = to
  }

  /** How far the name is known to be like that of the member before it. */
  likenessOf(node: JsonNode): number {
    return this.#cells[node + likeness] as number
  }

  setLikeness(node: JsonNode, length: number): void {
    this.#cells[node + likeness] = length
  }

  nextOf(node: JsonNode): JsonNode {
    return this.#cells[node + next] as number
  }

  setNext(node: JsonNode, sibling: JsonNode): void {
    this.#cells[node + next] = sibling
  }

  /** An object or an array, even an empty one. */
  isContainer(node: JsonNode): boolean {
    return this.isObject(node) || this.draft.bytes[this.startOf(node)] === ascii.openBracket
  }

  isObject(node: JsonNode): boolean {
    return this.draft.bytes[this.startOf(node)] === ascii.openBrace
  }

  firstOf(node: JsonNode): JsonNode {
    return this.#cells[node + first] as number
  }

  /** Puts `node` behind its sibling, or first in its parent when there is none. */
  link(parent: JsonNode, sibling: JsonNode, node: JsonNode): void {
    this.#cells[sibling === none ? parent + first : sibling + next] = node
  }
}
