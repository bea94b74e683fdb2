import { ClientError } from './errors.js'

/** What describes the body and the answer that is wanted. */
const described = ['accept', 'accept-language', 'content-encoding', 'content-language', 'content-type']

/**
 * The headers to store. Any other is refused, since a request that is sent after a restart without it would be another one.
 * So no credential is stored by accident.
 */
export function keptHeaders(headers: Headers, more: readonly string[]): [string, string][] {
  const names = new Set([...described, ...more.map((name) => name.toLowerCase())])
  for (const name of headers.keys()) if (!names.has(name)) throw notKept(name)
  return [...headers]
}

function notKept(name: string): ClientError {
  const message = `The queue does not store "${name}". Give it by \`headers\`, which is asked at every attempt; or, if it is no secret, name it in \`keepHeaders\`.`
  return new ClientError('options_invalid', message)
}
