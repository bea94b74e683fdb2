import { invariant } from '../../kernel/errors.js'

/** What a script gives: text and bytes alike come as bytes, and `nil` as `null`. */
export type Reply = Buffer | number | null | readonly Reply[]

export function listOf(reply: Reply | undefined): readonly Reply[] {
  invariant(Array.isArray(reply), 'the script gives a list')
  return reply
}

function bytesOf(reply: Reply | undefined): Buffer {
  invariant(Buffer.isBuffer(reply), 'the script gives text, and the client gives it as bytes')
  return reply
}

export function textOf(reply: Reply | undefined): string {
  return bytesOf(reply).toString()
}

export function numberOf(reply: Reply | undefined): number {
  return Number(textOf(reply))
}

/** A hash, as Redis gives it: names and values in turn. */
export type Fields = ReadonlyMap<string, Buffer>

export function fieldsOf(reply: Reply | undefined): Fields {
  const list = listOf(reply)
  const fields = new Map<string, Buffer>()
  for (let index = 0; index < list.length; index += 2) fields.set(textOf(list[index]), bytesOf(list[index + 1]))
  return fields
}

/** How a field is read: it must be there, or may be absent. */
export function reader(fields: Fields) {
  const text = (name: string): string => {
    const value = fields.get(name)
    invariant(value, `it has a field "${name}"`)
    return value.toString()
  }
  return {
    text,
    number: (name: string) => Number(text(name)),
    textIf: (name: string) => fields.get(name)?.toString(),
    numberIf: (name: string) => (fields.has(name) ? Number(text(name)) : undefined),
    bytesIf: (name: string) => fields.get(name),
  }
}
