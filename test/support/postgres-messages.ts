/** One message of PostgreSQL's protocol. Its type is a letter, or a word for what a client says before all letters. */
export interface Message {
  readonly type: string
  /** What comes after the type and the length. */
  readonly body: Buffer
  /** All of it, as it travels. */
  readonly bytes: Buffer
}

/** What a client says first has no letter but a number. Whatever has none of these is the start of a session. */
const openings: Readonly<Record<number, string>> = {
  80877102: 'cancel',
  80877103: 'encryption',
  80877104: 'encryption',
}

/** Cuts what a client sends into messages. */
export function clientMessages(): (bytes: Buffer) => readonly Message[] {
  return messages('opening')
}

/** Cuts what a server sends into messages. */
export function serverMessages(): (bytes: Buffer) => readonly Message[] {
  return messages('typed')
}

/** The text that begins here and ends with a zero. */
export function textAt(body: Buffer, start: number): string {
  return body.toString('utf8', start, body.indexOf(0, start))
}

/** Cuts a stream into messages: a letter, which an opening lacks, a length that counts itself, and a body. */
function messages(first: 'opening' | 'typed'): (bytes: Buffer) => readonly Message[] {
  let pending = Buffer.alloc(0)
  let letters = first === 'typed' ? 1 : 0
  return (bytes) => {
    pending = Buffer.concat([pending, bytes])
    const found: Message[] = []
    while (pending.length >= letters + 4) {
      const length = letters + pending.readInt32BE(letters)
      if (pending.length < length) break
      const whole = pending.subarray(0, length)
      const body = whole.subarray(letters + 4)
      const type = letters === 1 ? String.fromCharCode(whole[0] ?? 0) : (openings[body.readInt32BE(0)] ?? 'startup')
      found.push({ type, body, bytes: whole })
      if (type === 'startup') letters = 1
      pending = pending.subarray(length)
    }
    return found
  }
}
