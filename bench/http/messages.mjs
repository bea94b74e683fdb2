/** As much of HTTP/1.1 as the callers speak. */

/**
 * A payment of so many bytes.
 *
 * @param {number} bytes
 */
export function bodyOf(bytes) {
  /** @param {string} note */
  const payment = (note) =>
    JSON.stringify({
      amountCents: 12_345,
      currency: 'EUR',
      customer: 'cus_8e03978e40d543dd',
      metadata: { order: 'o-1029384756', channel: 'web' },
      note,
    })
  return payment('x'.repeat(bytes - payment('').length))
}

/**
 * All of a request but its key and its body.
 *
 * @param {string} path
 * @param {string} body
 * @param {string[]} more
 */
export function headOf(path, body, ...more) {
  return [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'User-Agent: bench',
    'Accept: application/json',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...more,
    'Idempotency-Key: ',
  ].join('\r\n')
}

/**
 * `undefined` until all of it is there.
 *
 * @param {string} response
 * @returns {{ body: string } | undefined}
 */
export function answerIn(response) {
  const end = response.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const length = lengthIn(response)
  return response.length < end + 4 + length ? undefined : { body: response.slice(end + 4, end + 4 + length) }
}

/** @param {string} response */
function lengthIn(response) {
  // As most spell it; the other spelling is that of Express.
  const lower = response.indexOf('content-length: ')
  const at = (lower === -1 ? response.indexOf('Content-Length: ') : lower) + 16
  return Number.parseInt(response.slice(at, at + 8), 10)
}
