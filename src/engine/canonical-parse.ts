import { limits } from '../kernel/limits.js'
import { arrayNode, type JsonMember, type JsonNode, memberOf, objectNode, sortMembers } from './canonical-node.js'
import { canonicalNumber, type NumberForm } from './canonical-number.js'
import { code, endOfBlank, endOfNumber, endOfString, endOfWord, nowhere } from './canonical-scan.js'

/** Why a text has no canonical form. */
export type Flaw = 'not_json' | 'duplicate_member' | 'lone_surrogate' | 'number_out_of_range' | 'too_deep'

/**
 * Reads a JSON text into its canonical form, or says what is wrong with it. It accepts what `JSON.parse` accepts and
 * keeps what that loses: every digit of a number, and that a member was named twice. There is no recursion, so depth
 * costs no stack; the limit is there because those who read the body after us may not be so careful.
 */
export function parseCanonical(text: string, numbers: NumberForm): JsonNode | Flaw {
  return new Parser(text, numbers).parse()
}

/** An object or array whose end has not been reached. `name` is that of the member being read, as spelled. */
type Open =
  | { readonly kind: 'object'; readonly closing: number; readonly members: JsonMember[]; name: string }
  | { readonly kind: 'array'; readonly closing: number; readonly items: JsonNode[] }

/** What was read so far is fine, and a value comes next. */
const goOn = Symbol('a value comes next')

class Parser {
  readonly #text: string
  readonly #numbers: NumberForm
  readonly #open: Open[] = []
  #at = 0
  /** The first flaw of a text that is still JSON. One that is no JSON at all is `not_json`, whatever else it is. */
  #flaw: Flaw | undefined

  constructor(text: string, numbers: NumberForm) {
    this.#text = text
    this.#numbers = numbers
  }

  parse(): JsonNode | Flaw {
    for (;;) {
      const begun = this.#begin()
      if (begun === goOn) continue
      if (typeof begun === 'string') return begun
      const ended = this.#end(begun)
      if (ended !== goOn) return ended
    }
  }

  /** Reads a whole value, or the beginning of one that holds others. */
  #begin(): JsonNode | Flaw | typeof goOn {
    this.#at = endOfBlank(this.#text, this.#at)
    switch (this.#text.charCodeAt(this.#at)) {
      case code.openBrace:
        return this.#enter({ kind: 'object', closing: code.closeBrace, members: [], name: '' })
      case code.openBracket:
        return this.#enter({ kind: 'array', closing: code.closeBracket, items: [] })
      default: {
        const text = this.#scalar()
        return text === undefined ? 'not_json' : { text }
      }
    }
  }

  #enter(container: Open): JsonNode | Flaw | typeof goOn {
    if (this.#open.length === limits.canonicalDepth) return 'too_deep'
    this.#at = endOfBlank(this.#text, this.#at + 1)
    if (this.#text.charCodeAt(this.#at) === container.closing) {
      this.#at += 1
      return this.#closed(container)
    }
    this.#open.push(container)
    return container.kind === 'object' ? this.#name(container) : goOn
  }

  /** Hands a value to what holds it, and closes all that ends behind it. */
  #end(value: JsonNode): JsonNode | Flaw | typeof goOn {
    let node = value
    for (;;) {
      this.#at = endOfBlank(this.#text, this.#at)
      const container = this.#open.at(-1)
      if (container === undefined) return this.#at === this.#text.length ? (this.#flaw ?? node) : 'not_json'
      if (container.kind === 'object') container.members.push(memberOf(container.name, node))
      else container.items.push(node)
      const here = this.#text.charCodeAt(this.#at)
      this.#at += 1
      if (here === code.comma) return container.kind === 'object' ? this.#name(container) : goOn
      if (here !== container.closing) return 'not_json'
      this.#open.pop()
      node = this.#closed(container)
    }
  }

  #closed(container: Open): JsonNode {
    if (container.kind === 'array') return arrayNode(container.items)
    if (sortMembers(container.members) === 'duplicate') this.#flaw ??= 'duplicate_member'
    return objectNode(container.members)
  }

  /** Reads a member's name and its colon. */
  #name(container: Open & { kind: 'object' }): Flaw | typeof goOn {
    this.#at = endOfBlank(this.#text, this.#at)
    if (this.#text.charCodeAt(this.#at) !== code.quote) return 'not_json'
    const name = this.#string()
    this.#at = endOfBlank(this.#text, this.#at)
    if (name === undefined || this.#text.charCodeAt(this.#at) !== code.colon) return 'not_json'
    this.#at += 1
    container.name = name
    return goOn
  }

  #scalar(): string | undefined {
    const here = this.#text.charCodeAt(this.#at)
    if (here === code.quote) return this.#string()
    return here === code.minus || (here >= code.zero && here <= code.nine) ? this.#number() : this.#word()
  }

  #string(): string | undefined {
    const literal = this.#taken(endOfString(this.#text, this.#at))
    return literal?.includes('\\') ? this.#respelled(literal) : literal
  }

  /** For one string, `JSON.parse` loses nothing, and it knows which escapes there are. */
  #respelled(literal: string): string | undefined {
    try {
      const value: string = JSON.parse(literal)
      if (!value.isWellFormed()) this.#flaw ??= 'lone_surrogate'
      return JSON.stringify(value)
    } catch {
      return undefined
    }
  }

  #number(): string | undefined {
    const literal = this.#taken(endOfNumber(this.#text, this.#at))
    if (literal === undefined || plainInteger.test(literal)) return literal
    const number = canonicalNumber(literal, this.#numbers)
    if (number === undefined) this.#flaw ??= 'number_out_of_range'
    return number ?? literal
  }

  #word(): string | undefined {
    return this.#taken(endOfWord(this.#text, this.#at))
  }

  /** The token up to `end`, which is then behind us. */
  #taken(end: number): string | undefined {
    if (end === nowhere) return undefined
    const token = this.#text.slice(this.#at, end)
    this.#at = end
    return token
  }
}

/** Most numbers: few enough digits for a double, and already in every normal form. */
const plainInteger = /^(?:0|-?[1-9][0-9]{0,14})$/
