/** Callers of something that takes a key: as fast as they are answered, or at a rate of their own. */
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * @typedef {(key: string, number: number) => Promise<unknown>} Once what a caller does with a key that nobody had before
 *
 * @typedef {object} Load what was reached
 * @property {number} perSecond
 * @property {number | null} p50Ms `null` when the one in this place was never served
 * @property {number | null} p99Ms
 * @property {number | null} p999Ms
 * @property {number | null} cpuUs processor time of this process for each that was served; `null` when nobody knows
 * @property {number} unserved how many were refused, or never sent because too many waited
 */

/**
 * As many callers as asked for. Each asks again as soon as it was answered, until the time is up.
 *
 * @param {Once} once
 * @param {{ concurrency: number, seconds: number }} wanted
 * @returns {Promise<Load>}
 */
export async function closedLoop(once, { concurrency, seconds }) {
  const run = randomUUID()
  /** @type {number[]} */
  const times = []
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  const until = startedAt + seconds * 1_000
  let number = 0
  const caller = async () => {
    while (performance.now() < until) {
      const askedAt = performance.now()
      number += 1
      await once(`${run}-${number}`, number)
      times.push(performance.now() - askedAt)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, caller))
  return loadOf(times, performance.now() - startedAt, process.cpuUsage(cpu))
}

/** Who has so many waiting does not keep up, and more of them would only fill the memory. */
const mostWaiting = 5_000

/**
 * So many every second, whether those before were answered or not. How long one took counts from when it was due, not from
 * when it was sent: otherwise whoever holds up the sender would not be charged for those that could not be sent meanwhile.
 *
 * @param {Once} once
 * @param {{ rate: number, seconds: number }} wanted
 * @returns {Promise<Load>}
 */
export async function openLoop(once, { rate, seconds }) {
  const run = randomUUID()
  const wanted = rate * seconds
  /** @type {number[]} */
  const times = []
  /** @type {Set<Promise<void>>} */
  const waiting = new Set()
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  let sent = 0
  const send = () => {
    const dueAt = startedAt + (sent * 1_000) / rate
    sent += 1
    const one = once(`${run}-${sent}`, sent).then(
      () => void times.push(performance.now() - dueAt),
      () => undefined,
    )
    waiting.add(one)
    void one.then(() => waiting.delete(one))
  }
  while (sent < wanted && waiting.size < mostWaiting) {
    const due = Math.min(wanted, Math.floor(((performance.now() - startedAt) * rate) / 1_000) + 1)
    while (sent < due && waiting.size < mostWaiting) send()
    await sleep(1)
  }
  await Promise.all(waiting)
  const never = Array.from({ length: wanted - times.length }, () => Number.POSITIVE_INFINITY)
  const load = loadOf(times.concat(never), performance.now() - startedAt, process.cpuUsage(cpu))
  return { ...load, unserved: never.length }
}

/**
 * @param {number[]} times of which those that are infinite were not served
 * @param {number} elapsedMs
 * @param {NodeJS.CpuUsage} cpu
 * @returns {Load}
 */
function loadOf(times, elapsedMs, { user, system }) {
  const sorted = Float64Array.from(times).sort()
  const served = times.filter(Number.isFinite).length
  /** @param {number} share */
  const at = (share) => {
    const ms = sorted[Math.floor(sorted.length * share)] ?? Number.POSITIVE_INFINITY
    return Number.isFinite(ms) ? ms : null
  }
  const perSecond = (served / elapsedMs) * 1_000
  return { perSecond, p50Ms: at(0.5), p99Ms: at(0.99), p999Ms: at(0.999), cpuUs: (user + system) / served, unserved: 0 }
}
