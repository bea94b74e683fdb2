/**
 * A provider of its own: a plain HTTP server on loopback that shares nothing with the library. What it does is a line in a
 * ledger that is on disk before it answers. It honours an Idempotency-Key or not, and can be told to behave badly.
 *
 *   node provider.mjs --ledger=FILE [--honours] [--port=0]
 *
 *   POST /act                does it; body and header Idempotency-Key go into the ledger
 *   GET  /ledger             all that was done, in order
 *   GET  /find?key=K         { landed: true, result } or { landed: false }
 *   POST /behave             { delayMs?, fail?: { times, status }, drop?: { times } }: from now on
 *
 * It prints one line, {"port":…}, once it listens.
 */
import { closeSync, existsSync, fdatasync, openSync, readFileSync, write } from 'node:fs'
import { createServer } from 'node:http'
import { promisify } from 'node:util'

const options = new Map(process.argv.slice(2).map((text) => /** @type {[string, string]} */ (text.split('='))))
const file = options.get('--ledger')
if (file === undefined) throw new Error('say where the ledger is: --ledger=FILE')
const honours = options.has('--honours')

const entries = existsSync(file)
  ? readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line))
  : []
const byKey = new Map(entries.map((entry) => [entry.key, entry]))
const ledger = openSync(file, 'a')
const append = promisify(write)
const sync = promisify(fdatasync)
const behaviour = { delayMs: 0, fail: { times: 0, status: 503 }, drop: { times: 0 } }

/** Lines that arrive together share one sync; nobody is answered before it. */
let waiting = /** @type {{ line: string, resolve: () => void, reject: (error: unknown) => void }[]} */ ([])
let isSyncing = false
function durable(entry) {
  return new Promise((resolve, reject) => {
    waiting.push({ line: `${JSON.stringify(entry)}\n`, resolve: () => resolve(undefined), reject })
    if (!isSyncing) void syncAll()
  })
}
async function syncAll() {
  isSyncing = true
  while (waiting.length > 0) {
    const batch = waiting
    waiting = []
    try {
      await append(ledger, batch.map(({ line }) => line).join(''))
      await sync(ledger)
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  isSyncing = false
}

async function act(key, body) {
  if (behaviour.fail.times > 0) {
    behaviour.fail.times--
    return { status: behaviour.fail.status, body: { error: 'told to fail' } }
  }
  const known = honours ? byKey.get(key) : undefined
  if (known !== undefined) {
    await known.isDurable
    return { status: 200, body: { id: known.id, replayed: true } }
  }
  const entry = { id: `p_${entries.length + 1}`, key, body }
  const isDurable = durable(entry)
  entries.push(entry)
  // Whoever sends the same key meanwhile waits for the same line.
  byKey.set(key, { ...entry, isDurable })
  await isDurable
  return { status: 201, body: { id: entry.id } }
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url ?? '/', 'http://provider')
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString())
  const say = (status, value) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }
  switch (`${request.method} ${url.pathname}`) {
    case 'POST /act': {
      const said = await act(String(request.headers['idempotency-key']), body)
      if (behaviour.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, behaviour.delayMs))
      if (behaviour.drop.times > 0) {
        behaviour.drop.times--
        return void request.socket.destroy()
      }
      return say(said.status, said.body)
    }
    case 'GET /ledger':
      return say(200, entries)
    case 'GET /find': {
      const found = byKey.get(url.searchParams.get('key'))
      return say(200, found === undefined ? { landed: false } : { landed: true, result: { id: found.id } })
    }
    case 'POST /behave':
      Object.assign(behaviour, body)
      return say(200, behaviour)
    default:
      return say(404, { error: 'there is nothing here' })
  }
})
server.listen(Number(options.get('--port') ?? 0), '127.0.0.1', () => {
  const address = server.address()
  console.log(JSON.stringify({ port: typeof address === 'object' ? address?.port : undefined }))
})
process.once('SIGTERM', () => {
  closeSync(ledger)
  process.exit(0)
})
