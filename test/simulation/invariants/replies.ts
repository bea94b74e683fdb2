import type { StoredRecord } from '../../../src/engine/record.js'
import type { Order } from '../application.js'
import { isAnswer, isForGood, isWithheld, type Replied } from '../sent.js'
import { demand } from '../violation.js'
import type { Task } from '../world/task.js'
import { holds, judgeMinted, judgeSent } from './answers.js'
import { type Judged, recordOf } from './judged.js'
import type { Memory } from './memory.js'
import { judgeMalformed } from './misspelt.js'
import { codeOf, judgeRefusal } from './refusals.js'

/** What a node begins to send. */
export interface Sending {
  readonly task: Task
  readonly order: Order
  readonly sent: Replied
}

/** Judges what is sent by what is stored by then, and tells of the record that it is about. */
export function repliesJudged(
  { world, database, work, duplicates, reached }: Judged,
  { overtaken, found, given, away }: Memory,
): (sending: Sending) => StoredRecord | undefined {
  /**
   * What is sent is what is stored now, or was while the request was there: who made an answer himself, and was stopped until
   * its time was over and its key was used anew, sends the one that was stored then; and so does who has read one that was
   * buried before he sent it.
   */
  function recordBehind({ task, order, sent }: Sending): StoredRecord | undefined {
    const current = recordOf(database, order)
    // Of what was not kept the same is said in every generation.
    if (isWithheld(sent) && current !== undefined && holds(current, sent, duplicates)) return current
    const earlier = overtaken.findLast(
      ({ record, at }) =>
        isNamed(record, order) && holds(record, sent, duplicates) && (!sent.isReplay || at >= task.begunAfter),
    )
    return earlier?.record ?? current
  }

  /** Whoever ran is sent what came of that, and nothing that his key stands for since. */
  function judgeGeneration({ task, order, sent }: Sending, name: string, record: StoredRecord | undefined): void {
    // Whoever is answered from memory has drawn none.
    const own = task.firstId === undefined ? undefined : given.get(task.firstId)
    if (own === undefined || own === record?.generation) return
    // What is stored of an error may be the same in each.
    const isHeldBy = (one: StoredRecord) => one.generation === own && holds(one, sent, duplicates)
    const current = recordOf(database, order)
    const isOwn =
      (current !== undefined && isHeldBy(current)) ||
      overtaken.some(({ record: one }) => isNamed(one, order) && isHeldBy(one))
    demand(isOwn, () => `${name} ran in generation ${own}, and was sent the answer of generation ${record?.generation}`)
  }

  /** No answer: a refusal, or that something failed. */
  function judgeOther({ task, sent }: Sending, name: string, record: StoredRecord | undefined): void {
    const code = codeOf(sent, name)
    if (code === undefined) return
    if (away.told(task, code, name, { found, given })) reached()?.note('a request that was sent away')
    if (work === 'shared' || sent.status >= 500) return
    const isUnharmed = world.isUnharmed && world.isTimely
    judgeRefusal({ task, code, name, record, now: world.now(), isUnharmed })
  }

  return (sending) => {
    const { task, order, sent } = sending
    const name = `${order.tenant}/${order.key}`
    const record = recordBehind(sending)
    if (order.misspelt !== undefined) {
      judgeMalformed(sent, name)
      reached()?.note('a key that was malformed')
      return record
    }
    if (sent.isReplay) reached()?.note('a replay')
    judgeMinted(order, sent, work === 'own' ? task.claims > 0 : record !== undefined)
    if (sent.status >= 500 && isAnswer(sent)) reached()?.note('a failure that is an answer')
    if (isWithheld(sent) && task.claims === 0) reached()?.note('a retry of what was not kept')
    if (isForGood(sent)) judgeSent(order, sent, record, duplicates)
    if (isAnswer(sent)) judgeGeneration(sending, name, record)
    else judgeOther(sending, name, record)
    return record
  }
}

function isNamed({ scope, key }: StoredRecord, order: Order): boolean {
  return scope === order.tenant && key === order.key
}
