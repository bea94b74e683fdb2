import { type Message, textAt } from './postgres-messages.js'

/** The first or the next part of a statement. After the last part the server says that it is ready. */
export interface StatementPart {
  /** Of those that travel together all texts, with a semicolon between them. */
  readonly text: string
  readonly isLast: boolean
  readonly bytes: Buffer
}

/** What a message of a client comes to: a part of a statement, nothing until that is whole, or no statement at all. */
export type Spoken = StatementPart | 'not yet' | 'no statement'

/**
 * Puts the messages of one client together to statements. A statement is a simple Query, or everything up to a Sync; a
 * Flush hands over a part of it early. The text of a statement that was prepared before is known by its name.
 */
export function statementParts(): (message: Message) => Spoken {
  const texts = new Map<string, string>()
  let part: Buffer[] = []
  let said: string[] = []
  let prepared = ''
  return ({ type, body, bytes }) => {
    switch (type) {
      case 'Q':
        return { text: textAt(body, 0), isLast: true, bytes }
      case 'P': {
        const { name, text } = preparedBy(body)
        texts.set(name, text)
        prepared = text
        break
      }
      case 'B':
        said.push(texts.get(textAt(body, body.indexOf(0) + 1)) ?? '')
        break
      case 'D':
      case 'E':
      case 'C':
      case 'H':
      case 'S':
        break
      default:
        return 'no statement'
    }
    part.push(bytes)
    if (type !== 'S' && type !== 'H') return 'not yet'
    const text = said.length === 0 ? prepared : said.join('; ')
    const whole = { text, isLast: type === 'S', bytes: Buffer.concat(part) }
    part = []
    if (type === 'S') said = []
    return whole
  }
}

/** What a Parse prepares, under no name or one. */
export function preparedBy(body: Buffer): { readonly name: string; readonly text: string } {
  return { name: textAt(body, 0), text: textAt(body, body.indexOf(0) + 1) }
}
