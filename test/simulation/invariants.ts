import { type Order, services, subjectOf } from './application.js'
import { judgeAct } from './invariants/acts.js'
import { type Afterwards, afterwards } from './invariants/afterwards.js'
import { judgeDoubted, judgeHeard, judgeMismatch, judgeRoute } from './invariants/answers.js'
import { judgeAsk, judgeKey, judgeRemembered } from './invariants/asks.js'
import { judgeHeardOf, judgeTold } from './invariants/evidence.js'
import type { Judged } from './invariants/judged.js'
import { oncePerLife } from './invariants/lives.js'
import { digestOf, newMemory } from './invariants/memory.js'
import { judgeAsker } from './invariants/misspelt.js'
import { judgeRefused } from './invariants/refusals.js'
import { repliesJudged } from './invariants/replies.js'
import { rowsJudged } from './invariants/rows.js'
import { judgeAcknowledged, judgeLeft } from './invariants/webhooks.js'
import type { Act } from './provider.js'
import { isForGood, type Replied } from './sent.js'
import type { Task } from './world/task.js'

/** What must hold, at every step and at the end. Each throws a Violation that says what does not. */
export interface Invariants extends Afterwards {
  step(): void
  /** A node begins to send this, for this task. Gives what the key stands for by now. */
  sending(task: Task, order: Order, reply: Replied): number
  /** The provider hears that what it tells of this has arrived. */
  acknowledged(act: Act): void
  /** A person is about to say what became of the call or effect with this downstream key. */
  leftToPeople(key: string): void
  /** What later judgements depend on beside what is there, in short. */
  memory(): string
}

export function invariants(judged: Judged): Invariants {
  const { world, database, provider, heard, requests, duplicates } = judged
  const memory = newMemory()
  const { lives, landed, notLanded, subjects } = memory
  const lookAtRows = rowsJudged(judged, memory)
  const judgeReply = repliesJudged(judged, memory)
  const acts = oncePerLife(lives, provider.ledger)
  const asks = oncePerLife(lives, provider.asks)
  let told = 0
  /** What was found out while somebody else's code ran: it is thrown where it ends the run. */
  let broken: unknown

  const known = {
    records: database.records,
    notLanded: (key: string) => notLanded.get(key) ?? 0,
    toldNo: provider.toldNo,
  }

  /** Judges while somebody else's code runs. */
  function meanwhile<T>(judge: () => T): T | undefined {
    try {
      return judge()
    } catch (error) {
      broken ??= error
      return undefined
    }
  }

  /** Whether anything follows from what this call or effect gives. */
  function needsResult(key: string): boolean {
    const asked = provider.asks.find((ask) => ask.key === key)
    if (asked?.service === services.receipt) return false
    const isUnneeded = requests.some(({ order }) => order.needsNoResult && asked?.subject === subjectOf(order, 1))
    return asked?.service !== services.letter || !isUnneeded
  }

  function judgeProvider(): void {
    for (const { one, earlier } of asks.next()) {
      judgeAsker(world.task, one)
      judgeKey(one, subjects)
      judgeAsk(one, earlier, known)
      if (earlier === 0) continue
      judgeTold(one, world.task, landed)
      judgeRemembered(one, provider.ledger, world.time)
    }
    for (const { one, earlier } of acts.next()) judgeAct(one, earlier === 0, database.effects)
  }

  function judgeClients(): void {
    for (; told < heard.length; told++) {
      const now = heard[told]
      if (now === undefined) continue
      judgeHeard(now, heard, told, duplicates)
      judgeMismatch(now, requests)
      judgeRoute(now)
      judgeDoubted(now)
    }
  }

  return {
    ...afterwards(judged, acts.ofThisLife),
    memory() {
      const asked = provider.asks.map(({ service, key, subject }) => [service.name, key, subject])
      return JSON.stringify([asked.sort(), ...digestOf(memory)])
    },
    step() {
      if (broken !== undefined) throw broken
      lookAtRows()
      if (world.task !== undefined) judgeRefused(world.task, 'a request')
      judgeProvider()
      judgeClients()
    },
    sending(task, order, sent) {
      const record = meanwhile(() => {
        lookAtRows()
        return judgeReply({ task, order, sent })
      })
      // Whoever uses the key of an answer whose time is over has it before that shows.
      const isAnew = !isForGood(sent) && (record?.expiresAt ?? Number.POSITIVE_INFINITY) <= world.now()
      return lives.of(`${order.tenant}/${order.key}`) * 1_000 + (record?.generation ?? 0) + (isAnew ? 1 : 0)
    },
    acknowledged: (act) => meanwhile(() => judgeAcknowledged(database, act)),
    leftToPeople: (key) =>
      meanwhile(() => {
        judgeLeft(key, database.testimonies(), () => needsResult(key))
        judgeHeardOf(key, provider.toldLanded)
      }),
  }
}
