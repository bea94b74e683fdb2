/**
 * The callers, in a process of their own, so that making requests takes no time from the server. Raw sockets: a request
 * is one string, and of a response only what is checked is looked at.
 */
import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'

export interface Load {
  readonly port: number
  readonly keys: 'new' | 'known'
  /** How a right answer is marked: not at all, or as a replay. */
  readonly marked: 'no' | 'as a replay' | 'either'
  /** Goes on for this long, and until so many requests were answered. */
  readonly seconds: number
  readonly atLeast: number
}

export interface Loaded {
  readonly requests: number
  readonly perSecond: number
  readonly cpuMs: number
  /** The first answer that was not as it must be. */
  readonly wrong: string | undefined
}

const connections = 64
/** So many that callers rarely ask for the same one at a time. */
const knownKeys = Array.from({ length: 1_000 }, () => randomUUID())

/** 200 bytes. */
const body = JSON.stringify({
  amountCents: 12_345,
  currency: 'EUR',
  customer: 'cus_8e03978e40d543dd',
  metadata: { order: 'o-1029384756', channel: 'web' },
  note: 'x'.repeat(66),
})

const head = [
  'POST /payments HTTP/1.1',
  'Host: 127.0.0.1',
  'User-Agent: bench',
  'Accept: application/json',
  'Content-Type: application/json',
  `Content-Length: ${Buffer.byteLength(body)}`,
].join('\r\n')

const requestOf = (key: string) => `${head}\r\nIdempotency-Key: ${key}\r\n\r\n${body}`

async function load({ port, keys, marked, seconds, atLeast }: Load): Promise<Loaded> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => connected(port)))
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  const until = startedAt + seconds * 1_000
  const run = randomUUID().slice(0, 24)
  let requests = 0
  let wrong: string | undefined

  const nextKey = () => {
    const number = requests++
    return keys === 'new' ? run + String(number).padStart(12, '0') : (knownKeys[number % knownKeys.length] as string)
  }
  const isRight = (response: string) =>
    response.startsWith('HTTP/1.1 201') &&
    (marked === 'either' || response.includes(replayMark) === (marked === 'as a replay'))

  const caller = (socket: Socket) =>
    new Promise<void>((resolve, reject) => {
      let got = ''
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('The server hung up.')))
      socket.on('data', (chunk) => {
        got = got === '' ? chunk.toString('latin1') : got + chunk.toString('latin1')
        if (!isWhole(got)) return
        if (!isRight(got)) wrong ??= got
        got = ''
        if (wrong !== undefined || (requests >= atLeast && performance.now() >= until)) resolve()
        else socket.write(requestOf(nextKey()), 'latin1')
      })
      socket.write(requestOf(nextKey()), 'latin1')
    })
  await Promise.all(sockets.map(caller))
  const elapsedMs = performance.now() - startedAt
  for (const socket of sockets) socket.removeAllListeners().destroy()
  const { user, system } = process.cpuUsage(cpu)
  return { requests, perSecond: (requests / elapsedMs) * 1_000, cpuMs: (user + system) / 1_000, wrong }
}

const replayMark = 'idempotent-replayed: true'
const lengthMark = 'content-length: '

function isWhole(response: string): boolean {
  const end = response.indexOf('\r\n\r\n')
  if (end === -1) return false
  const at = response.indexOf(lengthMark)
  return (
    response.length >= end + 4 + Number.parseInt(response.slice(at + lengthMark.length, at + lengthMark.length + 8), 10)
  )
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket.off('error', reject)))
    socket.on('error', reject)
  })
}

process.on('message', (message) => {
  load(message as Load).then(
    (loaded) => process.send?.(loaded),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => process.exit())
