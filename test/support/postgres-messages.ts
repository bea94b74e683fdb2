/** What a PostgreSQL client says, as far as it must be understood to know one statement from the next. */
export type Frontend =
  /** The first or the next part of a statement. The last part is the one after which the server says that it is ready. */
  | { readonly kind: 'part'; readonly text: string; readonly isLast: boolean; readonly bytes: Buffer }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'encryption' }
  | { readonly kind: 'other'; readonly bytes: Buffer }

export interface Message {
  readonly type: string
  readonly bytes: Buffer
}

const cancelRequest = 80877102
const encryptionRequests = [80877103, 80877104]

/**
 * Cuts a client's stream into the parts of its statements. A statement is a simple Query, or everything up to a Sync;
 * a Flush hands over a part of it early. The text of a statement that was prepared before is known by its name.
 */
export function frontendMessages(): (bytes: Buffer) => readonly Frontend[] {
  const typed = typedMessages()
  const texts = new Map<string, string>()
  let opening: Buffer | undefined = Buffer.alloc(0)
  let part: Buffer[] = []
  let text = ''

  function open(bytes: Buffer): readonly Frontend[] {
    opening = Buffer.concat([opening ?? bytes.subarray(0, 0), bytes])
    if (opening.length < 8 || opening.length < opening.readInt32BE(0)) return []
    const first = opening.subarray(0, opening.readInt32BE(0))
    const rest = opening.subarray(first.length)
    const code = first.readInt32BE(4)
    opening = Buffer.alloc(0)
    if (code === cancelRequest) return [{ kind: 'cancel' }]
    if (encryptionRequests.includes(code)) return [{ kind: 'encryption' }, ...open(rest)]
    opening = undefined
    return [{ kind: 'other', bytes: first }, ...read(rest)]
  }

  function read(bytes: Buffer): readonly Frontend[] {
    return typed(bytes).flatMap((message) => understood(message))
  }

  function understood({ type, bytes }: Message): readonly Frontend[] {
    switch (type) {
      case 'Q':
        return [{ kind: 'part', text: textAt(bytes, 5), isLast: true, bytes }]
      case 'P': {
        const name = textAt(bytes, 5)
        text = textAt(bytes, 5 + Buffer.byteLength(name) + 1)
        texts.set(name, text)
        break
      }
      case 'B':
        text = texts.get(textAt(bytes, 5 + Buffer.byteLength(textAt(bytes, 5)) + 1)) ?? ''
        break
      case 'D':
      case 'E':
      case 'C':
      case 'H':
      case 'S':
        break
      default:
        return [{ kind: 'other', bytes }]
    }
    part.push(bytes)
    if (type !== 'S' && type !== 'H') return []
    const whole: Frontend = { kind: 'part', text, isLast: type === 'S', bytes: Buffer.concat(part) }
    part = []
    return [whole]
  }

  return (bytes) => (opening === undefined ? read(bytes) : open(bytes))
}

/** Cuts a stream into messages of a type, a length and a content, as both sides send them after the opening. */
export function typedMessages(): (bytes: Buffer) => readonly Message[] {
  let pending = Buffer.alloc(0)
  return (bytes) => {
    pending = Buffer.concat([pending, bytes])
    const found: Message[] = []
    while (pending.length >= 5) {
      const length = 1 + pending.readInt32BE(1)
      if (pending.length < length) break
      found.push({ type: String.fromCharCode(pending[0] ?? 0), bytes: pending.subarray(0, length) })
      pending = pending.subarray(length)
    }
    return found
  }
}

function textAt(bytes: Buffer, start: number): string {
  return bytes.toString('utf8', start, bytes.indexOf(0, start))
}
