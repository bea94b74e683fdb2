import { limits } from '../../kernel/limits.js'
import { Draft, type Flaw } from './draft.js'
import { differenceAt, firstDifference } from './names.js'
import { type NumberForm, plainDigits, respellNumber } from './number.js'
import {
  ascii,
  endOfBlank,
  endOfNumber,
  endOfPlainNumber,
  endOfPlainString,
  endOfWord,
  isDigit,
  nowhere,
} from './scan.js'
import { sortMembers } from './sort.js'
import { respellString } from './string.js'
import { type JsonNode, JsonTree, none } from './tree.js'

/**
 * Reads a JSON text into a tree of canonical tokens, or says what is wrong with it. It accepts what `JSON.parse`
 * accepts and keeps what that loses: every digit of a number, and that a member was named twice. There is no
 * recursion, so depth costs no stack; the limit is there because those who read the body after us may be less careful.
 */
export function parseCanonical(source: Uint8Array, numbers: NumberForm): JsonTree | Flaw {
  return new Parser(source, numbers).parse()
}

/** An object or array whose end has not been reached. There is one per level, used again and again. */
interface Level {
  node: JsonNode
  closing: number
  /** The child that was read last. */
  last: JsonNode
  order: 'ascending' | 'mixed'
}

class Parser {
  readonly #source: Uint8Array
  readonly #numbers: NumberForm
  readonly #plainDigits: number
  readonly #draft: Draft
  readonly #tree: JsonTree
  readonly #levels: Level[] = []
  #depth = 0
  #at = 0
  /** The name of the member whose value comes next. */
  #nameStart = 0
  #nameEnd = 0
  /** Where the token read last stands in the draft. */
  #tokenStart = 0
  #tokenEnd = 0

  constructor(source: Uint8Array, numbers: NumberForm) {
    this.#source = source
    this.#numbers = numbers
    this.#plainDigits = plainDigits[numbers]
    this.#draft = new Draft(source)
    this.#tree = new JsonTree(this.#draft)
  }

  /**
   * A text that is no JSON is `not_json` even if it has flaws before that place. One that is too deep is not read on,
   * and nobody knows whether the rest of it is JSON.
   */
  parse(): JsonTree | Flaw {
    for (;;) {
      const begun = this.#begin()
      if (begun === 'opened') continue
      if (begun !== 'whole') return begun
      const ended = this.#end()
      if (ended === 'done') return this.#draft.flaw ?? this.#tree
      if (ended !== 'more') return ended
    }
  }

  /** Reads a whole value, or the beginning of one that holds others. */
  #begin(): 'whole' | 'opened' | Flaw {
    this.#at = endOfBlank(this.#source, this.#at)
    switch (this.#source[this.#at]) {
      case ascii.openBrace:
        return this.#enter(ascii.closeBrace)
      case ascii.openBracket:
        return this.#enter(ascii.closeBracket)
      default:
        if (!this.#scalar()) return 'not_json'
        this.#add(this.#tokenStart, this.#tokenEnd)
        return 'whole'
    }
  }

  #enter(closing: number): 'whole' | 'opened' | Flaw {
    if (this.#depth === limits.canonicalDepth) return 'too_deep'
    const node = this.#add(this.#at, nowhere)
    this.#at = endOfBlank(this.#source, this.#at + 1)
    if (this.#source[this.#at] === closing) {
      this.#at += 1
      this.#tree.setEnd(node, this.#at)
      return 'whole'
    }
    this.#open(node, closing)
    return this.#toNextValue(closing) ? 'opened' : 'not_json'
  }

  /** Goes on to what follows a value: the next one, or the end of all that ends here. */
  #end(): 'more' | 'done' | Flaw {
    for (;;) {
      this.#at = endOfBlank(this.#source, this.#at)
      if (this.#depth === 0) return this.#at === this.#source.length ? 'done' : 'not_json'
      const level = this.#levels[this.#depth - 1] as Level
      const here = this.#source[this.#at]
      this.#at += 1
      if (here === ascii.comma) return this.#toNextValue(level.closing) ? 'more' : 'not_json'
      if (here !== level.closing) return 'not_json'
      this.#close(level)
    }
  }

  #open(node: JsonNode, closing: number): void {
    if (this.#depth === this.#levels.length) this.#levels.push({ node, closing, last: none, order: 'ascending' })
    const level = this.#levels[this.#depth] as Level
    level.node = node
    level.closing = closing
    level.last = none
    level.order = 'ascending'
    this.#depth += 1
  }

  /** The order of members no longer matters once the text is known to be flawed. */
  #close({ node, order }: Level): void {
    this.#depth -= 1
    this.#tree.setEnd(node, this.#at)
    if (order === 'ascending' || this.#draft.flaw !== undefined) return
    if (sortMembers(this.#tree, node) === 'duplicate') this.#draft.flaw = 'duplicate_member'
  }

  /** In an object, a value comes behind a name and a colon. */
  #toNextValue(closing: number): boolean {
    this.#nameEnd = 0
    if (closing !== ascii.closeBrace) return true
    this.#at = endOfBlank(this.#source, this.#at)
    if (this.#source[this.#at] !== ascii.quote || !this.#string()) return false
    this.#nameStart = this.#tokenStart
    this.#nameEnd = this.#tokenEnd
    this.#at = endOfBlank(this.#source, this.#at) + 1
    return this.#source[this.#at - 1] === ascii.colon
  }

  /** Adds a value to the tree, behind its elder sibling. */
  #add(start: number, end: number): JsonNode {
    const node = this.#tree.add(start, end)
    if (this.#depth === 0) return node
    const level = this.#levels[this.#depth - 1] as Level
    this.#tree.link(level.node, level.last, node)
    if (this.#nameEnd > 0) {
      this.#tree.setName(node, this.#nameStart, this.#nameEnd)
      if (level.last !== none) this.#compare(level, node)
    }
    level.last = node
    return node
  }

  #compare(level: Level, member: JsonNode): void {
    const { bytes } = this.#draft
    const last = this.#tree.nameStartOf(level.last)
    const name = this.#tree.nameStartOf(member)
    const difference = differenceAt(bytes, last, name, firstDifference(bytes, last, name, 0))
    if (difference >= 0) level.order = 'mixed'
    if (difference === 0) this.#draft.flaw ??= 'duplicate_member'
  }

  #scalar(): boolean {
    const here = this.#source[this.#at]
    if (here === ascii.quote) return this.#string()
    if (here === ascii.minus || isDigit(here)) return this.#number()
    return this.#take(endOfWord(this.#source, this.#at))
  }

  #string(): boolean {
    if (this.#take(endOfPlainString(this.#source, this.#at))) return true
    const respelled = this.#draft.length
    return this.#take(respellString(this.#draft, this.#at)) && this.#respelledFrom(respelled)
  }

  #number(): boolean {
    if (this.#take(endOfPlainNumber(this.#source, this.#at, this.#plainDigits))) return true
    const start = this.#at
    const respelled = this.#draft.length
    if (!this.#take(endOfNumber(this.#source, start))) return false
    respellNumber(this.#draft, start, this.#at, this.#numbers)
    return this.#respelledFrom(respelled)
  }

  /** The token ends there, if anywhere. */
  #take(end: number): boolean {
    if (end === nowhere) return false
    this.#tokenStart = this.#at
    this.#tokenEnd = end
    this.#at = end
    return true
  }

  /** The token is better read in the canonical spelling that begins there. */
  #respelledFrom(start: number): true {
    this.#tokenStart = start
    this.#tokenEnd = this.#draft.length
    return true
  }
}
