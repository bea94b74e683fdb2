import { ascii } from './scan.js'
import { type JsonNode, type JsonTree, none } from './tree.js'

/** The canonical spelling of a value: what was read, without blanks, in the order of the tree. */
export function writeCanonical(tree: JsonTree, value: JsonNode): Buffer {
  return new Writer(tree).write(value)
}

class Writer {
  readonly #tree: JsonTree
  /** Nothing is written twice and every mark stands in the source, so the draft is never shorter than what comes out. */
  readonly #out: Buffer
  #length = 0

  constructor(tree: JsonTree) {
    this.#tree = tree
    this.#out = Buffer.allocUnsafe(tree.draft.length)
  }

  /** Goes down before it goes on, and keeps the way back in a list, so that depth costs no stack. */
  write(value: JsonNode): Buffer {
    const open: JsonNode[] = []
    let node = value
    for (;;) {
      const inner = this.#begin(node, open.length > 0 ? this.#named(node) : this.#tree.startOf(node))
      if (inner !== none) {
        open.push(node)
        node = inner
        continue
      }
      while (open.length > 0 && this.#tree.nextOf(node) === none) {
        node = open.pop() as JsonNode
        this.#close(node)
      }
      if (open.length === 0) return this.#out.subarray(0, this.#length)
      this.#put(ascii.comma)
      node = this.#tree.nextOf(node)
    }
  }

  /**
   * Writes the name of a member, and answers from where on its value is copied. Where one byte is between the two, they
   * stand in the source with nothing but a colon between them, and are copied as one.
   */
  #named(node: JsonNode): number {
    const nameEnd = this.#tree.nameEndOf(node)
    const start = this.#tree.startOf(node)
    if (nameEnd === 0) return start
    const nameStart = this.#tree.nameStartOf(node)
    if (nameEnd + 1 === start) return nameStart
    this.#copy(nameStart, nameEnd)
    this.#put(ascii.colon)
    return start
  }

  /** Writes a whole value, or the opening mark of one that holds others, and answers the first of those. */
  #begin(node: JsonNode, from: number): JsonNode {
    const first = this.#tree.firstOf(node)
    const mayHoldOthers = this.#tree.isContainer(node)
    this.#copy(from, mayHoldOthers ? this.#tree.startOf(node) + 1 : this.#tree.endOf(node))
    if (mayHoldOthers && first === none) this.#close(node)
    return first
  }

  #close(node: JsonNode): void {
    const end = this.#tree.endOf(node)
    this.#copy(end - 1, end)
  }

  #copy(start: number, end: number): void {
    const { bytes } = this.#tree.draft
    const out = this.#out
    const shift = this.#length - start
    for (let at = start; at < end; at += 1) out[at + shift] = bytes[at] as number
    this.#length = end + shift
  }

  #put(byte: number): void {
    this.#out[this.#length] = byte
    this.#length += 1
  }
}
