/** A media type as the fingerprint sees it: what changes the meaning of the bytes, and nothing else. */
export interface MediaType {
  /** `application/json`, in lower case. Empty when the request names none. */
  readonly essence: string
  /** The parameters in one spelling, without a charset that only says UTF-8. */
  readonly parameters: string
  /** Both as one text, to be hashed. */
  readonly text: string
}

/** Nearly all requests of an application name the same one, so the last is kept. */
let last: { readonly text: string | undefined; readonly mediaType: MediaType } | undefined

export function mediaTypeOf(text: string | undefined): MediaType {
  if (last === undefined || last.text !== text) last = { text, mediaType: parsed(text) }
  return last.mediaType
}

function parsed(given: string | undefined): MediaType {
  const [essence = '', ...parameters] = (given ?? '').split(';')
  const name = essence.trim().toLowerCase()
  const others = spelled(parameters.map((parameter) => parameter.trim()))
  return { essence: name, parameters: others, text: JSON.stringify([name, others]) }
}

export function isJson({ essence }: MediaType): boolean {
  return essence === 'application/json' || essence.endsWith('+json')
}

export function isForm({ essence }: MediaType): boolean {
  return essence === 'application/x-www-form-urlencoded'
}

/** `name=value` or `name="value"`, where the value holds nothing that would have to be escaped or split. */
const simple = /^([^\s"=\\]+)=(?:"([^"\\]*)"|([^\s"\\]+))$/

/** Parameters are put in one order and spelling only when all are simple; anything else is kept to the letter. */
function spelled(parameters: readonly string[]): string {
  const pairs: string[] = []
  for (const parameter of parameters) {
    if (parameter === '') continue
    const match = simple.exec(parameter)
    if (match === null) return parameters.join(';')
    const name = (match[1] ?? '').toLowerCase()
    const value = match[2] ?? match[3] ?? ''
    if (name !== 'charset') pairs.push(`${name}="${value}"`)
    else if (!/^utf-?8$/i.test(value)) pairs.push(`charset="${value.toLowerCase()}"`)
  }
  return pairs.sort().join(';')
}
