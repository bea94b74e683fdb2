/**
 * The callers, in a process of their own, so that making requests takes no time from the server. Raw sockets: a request
 * is one string, and of a response only what is checked is looked at.
 */
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import process from 'node:process'
import { answering } from '../harness/answering.mjs'
import { knownKeys } from './known-keys.mjs'
import { answerIn, bodyOf, headOf } from './messages.mjs'

/** @typedef {import('node:net').Socket} Socket */

/**
 * @typedef {object} Target
 * @property {number} port
 * @property {string} path
 * @property {number} bodyBytes
 *
 * @typedef {object} Wanted
 * @property {'load'} kind
 * @property {Target} target
 * @property {'new' | 'known' | 'held'} keys
 * @property {number} callers
 * @property {number} seconds goes on for this long, and until so many requests were answered
 * @property {number} atLeast
 * @property {number} status of a right answer
 * @property {'same' | 'any'} repeats whether a known key must get the very bytes that it got before
 *
 * @typedef {object} Hold
 * @property {'hold'} kind
 * @property {Target} target
 * @property {number} count how many requests are to stay in their handler
 *
 * @typedef {{ kind: 'let go' }} LetGo
 *
 * @typedef {object} Loaded
 * @property {number} requests
 * @property {number} perSecond
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number} cpuMs
 * @property {string | undefined} wrong the first answer that was not as it must be
 */

const known = Array.from({ length: knownKeys }, () => randomUUID())
/** @type {Map<string, string>} What was answered to a known key, by target and key. */
const answered = new Map()
/** @type {string[]} */
let held = []
/** @type {Socket[]} */
let holding = []

answering((/** @type {Wanted | Hold | LetGo} */ message) => {
  if (message.kind === 'load') return load(message)
  if (message.kind === 'hold') return hold(message)
  for (const socket of holding.splice(0)) socket.destroy()
  return undefined
})

/**
 * @param {Wanted} wanted
 * @returns {Promise<Loaded>}
 */
async function load({ target, keys, callers, seconds, atLeast, status, repeats }) {
  const sockets = await Promise.all(Array.from({ length: callers }, () => connected(target.port)))
  const body = bodyOf(target.bodyBytes)
  const head = headOf(target.path, body)
  const right = `HTTP/1.1 ${status}`
  const run = randomUUID().slice(0, 24)
  /** @type {number[]} */
  const times = []
  let requests = 0
  /** @type {string | undefined} */
  let wrong
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  const until = startedAt + seconds * 1_000

  /** @param {number} number */
  const keyOf = (number) => {
    if (keys === 'new') return run + String(number).padStart(12, '0')
    const list = keys === 'known' ? known : held
    return /** @type {string} */ (list[number % list.length])
  }

  /**
   * @param {string} key
   * @param {string} response
   */
  const isRight = (key, response) => {
    if (!response.startsWith(right)) return false
    if (repeats === 'any') return true
    const place = `${target.port} ${target.bodyBytes} ${key}`
    const before = answered.get(place)
    if (before === undefined) answered.set(place, answerIn(response)?.body ?? '')
    return before === undefined || answerIn(response)?.body === before
  }

  /** @param {Socket} socket */
  const caller = (socket) =>
    new Promise((resolve, reject) => {
      let got = ''
      let key = ''
      let askedAt = 0
      const ask = () => {
        key = keyOf(requests++)
        askedAt = performance.now()
        socket.write(`${head}${key}\r\n\r\n${body}`, 'latin1')
      }
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('The server hung up.')))
      socket.on('data', (chunk) => {
        got = got === '' ? chunk.toString('latin1') : got + chunk.toString('latin1')
        if (answerIn(got) === undefined) return
        times.push(performance.now() - askedAt)
        if (!isRight(key, got)) wrong ??= got
        got = ''
        if (wrong !== undefined || (requests >= atLeast && performance.now() >= until)) resolve(undefined)
        else ask()
      })
      ask()
    })
  await Promise.all(sockets.map(caller))
  const elapsedMs = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpu)
  for (const socket of sockets) socket.removeAllListeners().destroy()
  const sorted = Float64Array.from(times).sort()
  /** @param {number} share */
  const at = (share) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  const perSecond = (times.length / elapsedMs) * 1_000
  return { requests, perSecond, p50Ms: at(0.5), p99Ms: at(0.99), cpuMs: (user + system) / 1_000, wrong }
}

/**
 * Each on a connection of its own. Their keys are those that are asked for as `held`.
 *
 * @param {Hold} wanted
 */
async function hold({ target, count }) {
  held = Array.from({ length: count }, () => randomUUID())
  const body = bodyOf(target.bodyBytes)
  const head = headOf(target.path, body, 'X-Hold: yes')
  holding = await Promise.all(held.map(() => connected(target.port)))
  for (const [index, socket] of holding.entries()) socket.write(`${head}${held[index]}\r\n\r\n${body}`, 'latin1')
}

/**
 * @param {number} port
 * @returns {Promise<Socket>}
 */
function connected(port) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket.off('error', reject)))
    socket.on('error', reject)
  })
}
