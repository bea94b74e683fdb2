/**
 * A provider of charges: a process of its own, which outlives those that call it and knows nothing of Hapax. What it has
 * done is in its ledger, a file that is only ever appended to and is on disk before anybody is answered.
 *
 *   POST /charges          one charge, for the key in Idempotency-Key
 *   GET  /charges?key=…    what was charged under a key
 *   GET  /ledger           everything, as the file has it
 *
 * `?keys=forgotten` on a POST makes it a provider that charges as often as it is asked. `?fault=` makes it a poor one:
 * `delay` takes its time to answer, `drop` charges and ends the connection, `error` charges and answers 500, `lose` ends the
 * connection before it has charged.
 */
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const [path = ''] = process.argv.slice(2)
const file = openSync(path, 'a')
const delayMs = 250

/** @typedef {{ readonly id: string, readonly key: string, readonly what: unknown }} Charge */

/** @returns {Charge[]} */
const ledger = () =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

const charges = ledger()

/** @param {string} key @param {unknown} what @returns {Charge} */
function charge(key, what) {
  const made = { id: `ch_${charges.length + 1}`, key, what }
  writeSync(file, `${JSON.stringify(made)}\n`)
  fsyncSync(file)
  charges.push(made)
  return made
}

/** @param {string} key @param {unknown} what @param {boolean} isRemembered */
function charged(key, what, isRemembered) {
  const before = isRemembered ? charges.find((one) => one.key === key) : undefined
  if (before === undefined) return { status: 201, body: charge(key, what) }
  const isSame = JSON.stringify(before.what) === JSON.stringify(what)
  return isSame
    ? { status: 201, body: before }
    : { status: 422, body: { error: 'the key was used for another charge' } }
}

/** @param {import('node:http').IncomingMessage} request */
async function bodyOf(request) {
  let text = ''
  for await (const chunk of request) text += chunk
  return text === '' ? null : JSON.parse(text)
}

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://provider')
  /** @param {number} status @param {unknown} body */
  const answer = (status, body) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  if (pathname === '/ledger') return answer(200, ledger())
  if (pathname !== '/charges') return answer(404, { error: 'nothing is here' })
  if (request.method === 'GET') {
    const key = searchParams.get('key')
    return answer(
      200,
      charges.filter((one) => one.key === key),
    )
  }
  const key = request.headers['idempotency-key']
  if (typeof key !== 'string') return answer(400, { error: 'no key' })
  const what = await bodyOf(request)
  const fault = searchParams.get('fault')
  if (fault === 'lose') return request.socket.destroy()
  const { status, body } = charged(key, what, searchParams.get('keys') !== 'forgotten')
  if (fault === 'drop') return request.socket.destroy()
  if (fault === 'error') return answer(500, { error: 'something went wrong' })
  if (fault === 'delay') await pause(delayMs)
  return answer(status, body)
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})

// Whoever started it has gone.
process.stdin.resume().on('end', () => {
  closeSync(file)
  process.exit(0)
})
