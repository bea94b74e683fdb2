import type { StoredAnswer, StoredRecord } from '../../../src/engine/record.js'
import { madeBy, type Order } from '../application.js'
import type { Told } from '../client.js'
import { isForGood, isWithheld, linesOf, type Replied, type Sent, textOf } from '../sent.js'
import { demand } from '../violation.js'
import type { Judged } from './judged.js'

type Duplicates = Judged['duplicates']
type Withheld = Extract<StoredAnswer, { readonly kind: 'withheld' }>

/** What is sent is durable by then, and is about the request that it answers. */
export function judgeSent(order: Order, sent: Replied, record: StoredRecord | undefined, duplicates: Duplicates): void {
  const name = `${order.tenant}/${order.key}`
  if (!isWithheld(sent)) judgeWhose(order, sent, name)
  demand(record?.state === 'completed', () => `${name} was answered before that was durable`)
  demand(
    holds(record, sent, duplicates),
    () => `${name} was sent something else than what is stored${instead(sent, storedIn(record))}`,
  )
}

/** Both of them, for whoever has to see why. */
function instead(one: Sent, other: Sent | undefined): string {
  return `: ${inWords(one)}, and not ${other === undefined ? 'nothing' : inWords(other)}`
}

function inWords({ status, body, lines }: Sent): string {
  return `${status} ${body} ${lines.trim().replaceAll('\n', ', ')}`
}

function storedIn({ answer }: StoredRecord): Sent | undefined {
  if (answer === undefined) return undefined
  const body = answer.kind === 'kept' ? textOf(answer.body) : `${answer.bytes} bytes that were not kept`
  return { status: answer.status, body, lines: linesOf(answer.headers) }
}

/** Whose it is comes first: what is another's is stored under another name. */
function judgeWhose(order: Order, { status, body }: Sent, name: string): void {
  // Every program begins with it; only what begins otherwise is worth to be parsed.
  if (body.startsWith(`{"tenant":"${order.tenant}","key":"${order.key}","amount":${order.amount},`)) return
  // What is stored of an error tells nobody whose it was.
  if (status === 500) return
  const said = JSON.parse(body) as Partial<Order>
  demand(said.tenant === order.tenant, () => `${name} was sent an answer of tenant ${said.tenant}`)
  const isOwn = said.key === order.key && said.amount === order.amount
  demand(isOwn, () => `${name} was sent the answer to another request`)
}

/** Whether this is the answer that the record holds, or says of it what the record does. */
export function holds({ answer, key, generation }: StoredRecord, sent: Replied, duplicates: Duplicates): boolean {
  if (answer === undefined) return false
  if (answer.kind === 'kept')
    return answer.status === sent.status && textOf(answer.body) === sent.body && isUnder(answer, sent)
  if (isWithheld(sent)) return isTold(answer, sent)
  // One of an earlier generation may be as long: each names what it has made.
  return isWhole(answer, sent, duplicates) && sent.body.includes(`/${key}#${generation}`)
}

function isUnder({ headers }: StoredAnswer, { lines }: Sent): boolean {
  return linesOf(headers) === lines
}

/** What is not kept is given to whoever it was made for, and to those who have waited for that at its node. */
function isWhole(answer: Withheld, sent: Replied, duplicates: Duplicates): boolean {
  if (sent.isReplay && duplicates === 'reject') return false
  return answer.status === sent.status && answer.bytes === sent.body.length && isUnder(answer, sent)
}

/** Whoever asks later is told how it was answered, and where to look for what it made. */
function isTold({ status, headers }: Withheld, { body, lines }: Sent): boolean {
  const isSaid = body.includes(status === 0 ? 'what it answered cannot be' : `was answered with ${status},`)
  const places = headers.filter(([name]) => name === 'location')
  const isPlaced = places.every(([name, value]) => lines.includes(`${name}: ${value}\n`))
  return isSaid && isPlaced && lines.includes('location: ') === places.length > 0
}

/**
 * A key that was minted is nobody else's. Who took it may still be told what is stored: it was stopped for so long that a
 * worker finished its work.
 */
export function judgeMinted({ tenant, key, isKeyless }: Order, { status, isReplay }: Replied, isTaken: boolean): void {
  if (!isKeyless) return
  const isOwn = status !== 422 && (!isReplay || isTaken)
  demand(isOwn, () => `${tenant}/${key} met a request that it is not`)
}

/**
 * To its clients a key is a register that is written once: every two answers are the same, whoever asks after one was heard
 * gets it, or no answer now, never a conflict and never a mismatch; and nobody gets an answer from before the last one. Only where
 * duplicates wait, one that waits for another at its node is told that this one is under way when its own time is over, whatever
 * is stored by then. It was heard after the first `earlier` of them.
 */
export function judgeHeard(told: Told, heard: readonly Told[], earlier: number, duplicates: Duplicates): void {
  const { reply, order } = told
  if (reply === 'lost') return
  const name = `${order.tenant}/${order.key}`
  for (let index = 0; index < earlier; index++) {
    const before = heard[index]
    if (before === undefined || before.reply === 'lost') continue
    const first = before.reply
    if (!isForGood(first) || !isSameKey(before, told)) continue
    const isAfter = index < told.sentAfter
    if (isAfter && isForGood(reply))
      demand(reply.epoch >= first.epoch, () => `${name} got an answer from before the last one`)
    if (reply.epoch !== first.epoch) continue
    if (isForGood(reply))
      demand(isAsGood(first, reply), () => `${name} got two different answers${instead(reply, first)}`)
    else if (isAfter && !isOther(before, told)) {
      const isContradicted = reply.status === 422 || (reply.status === 409 && duplicates === 'reject')
      demand(!isContradicted, () => `${name} had an answer, and then a ${reply.status}`)
    }
  }
}

/** Only who meets another request under its key is told so. */
export function judgeMismatch(told: Told, requests: readonly Request[]): void {
  const { order, reply } = told
  if (reply === 'lost' || reply.status !== 422) return
  const isMet = requests.some((one) => isSameKey(one, told) && one.order.misspelt === undefined && isOther(one, told))
  demand(isMet, () => `${order.tenant}/${order.key} is told of another request that nobody sent`)
}

/** What a handler answers that has said that nobody knows what came of it is told to nobody. */
export function judgeDoubted({ order, reply }: Told): void {
  if (reply === 'lost' || order.fails !== 'doubts') return
  demand(reply.status !== 202, () => `${order.tenant}/${order.key} was answered although its handler is in doubt`)
}

/** Who is answered is answered by the route that he asked, whatever else was asked for under his key. */
export function judgeRoute({ order, program, reply }: Told): void {
  if (reply === 'lost' || reply.status !== 201) return
  const isOwn = reply.body.includes(`"${madeBy[program]}":`)
  demand(isOwn, () => `${order.tenant}/${order.key} asked for ${program}, and was answered by another route`)
}

/** What was asked for, and where. */
type Request = Pick<Told, 'program' | 'order'>

/** Of two under one key. */
function isOther(one: Request, other: Request): boolean {
  return one.order.amount !== other.order.amount || one.program !== other.program
}

/** What is not kept is given once, which is judged when it is sent, and everybody else is told the same of it. */
function isAsGood(one: Sent, other: Sent): boolean {
  return isWithheld(one) === isWithheld(other) ? isSame(one, other) || isMakers(one) || isMakers(other) : true
}

/** Whoever made what nobody can write down says so in other words than those who ask later. */
function isMakers(sent: Sent): boolean {
  return isWithheld(sent) && sent.body.includes('The handler ran once')
}

function isSame(one: Sent, other: Sent): boolean {
  return one.status === other.status && one.body === other.body && one.lines === other.lines
}

function isSameKey(one: Pick<Told, 'order'>, other: Pick<Told, 'order'>): boolean {
  return one.order.tenant === other.order.tenant && one.order.key === other.order.key
}
