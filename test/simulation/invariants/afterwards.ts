import type { Program } from '../application.js'
import type { Told } from '../client.js'
import { isLasting } from '../moods.js'
import type { Act } from '../provider.js'
import { isAnswered, isUnknown } from '../sent.js'
import { demand, violated } from '../violation.js'
import { isGivenUp } from './bounds.js'
import { isAtRest, isLeftOver, judgeLeftDead } from './dead.js'
import { isOver, isSettled, judgeEnd, judgeHappened } from './ends.js'
import { type Judged, recordOf } from './judged.js'
import { judgeSender } from './misspelt.js'
import { patience, stateInWords } from './patience.js'
import { judgeWork } from './webhooks.js'

/** What must hold when nothing goes wrong any more, and when all is over. */
export interface Afterwards {
  /** Whether workers and providers have nothing left to do. */
  isSettled(): boolean
  /** Whether somebody has not heard yet what came of what he sent. */
  isWaitedFor(): boolean
  /** When nothing is under way any more, and nothing that runs may run any longer: whoever still waits waits for ever. */
  heardOfAll(): void
  /** Whether somebody who asked again was told that nobody knows, and somebody does by now: he comes back for it. */
  isKnownByNow(): boolean
  /** Before each pass of the workers, when nothing goes wrong any more: nothing has waited for too long. */
  waiting(): void
  /** Everything has had its time, and something is not settled. */
  stuck(): never
  end(): void
  /** Whether nothing waits for its client. */
  isOver(): boolean
  /** Whatever waited for a client that has not come back has come to its end, or to a person. */
  over(): void
}

/** `actsOfNow`: of the lives that their keys have now. */
export function afterwards(
  { world, database, provider, heard, waiting, requests }: Judged,
  actsOfNow: () => readonly Act[],
): Afterwards {
  const waits = patience()
  const recordNamed = (name: string) => database.tables.records.get(name.replace('/', '\n'))?.committed?.record

  /** Whatever happened, happened for a record, and is what its answer says. */
  function judgeAllThatHappened(ledger: readonly Act[]): void {
    for (const { service, subject, isDenied } of ledger)
      judgeHappened({ what: service, subject, isDenied }, recordNamed)
    for (const { committed: row } of database.tables.rows.values())
      if (row !== undefined && row.table !== 'events') judgeHappened({ what: row.table, subject: row.id }, recordNamed)
  }

  /** And all that was answered has happened. */
  function judgeAllThatWasAnswered(ledger: readonly Act[]): void {
    const effects = database.effects()
    const hasRow = (table: string, id: string) => database.rows(table).some((row) => row.id === id)
    const known = { ledger, hasRow, isLeftOver: (subject: string) => isLeftOver(subject, effects) }
    for (const record of database.records()) {
      judgeSender(record, requests)
      judgeEnd(record.operation as Program, record, known)
    }
  }

  /**
   * Whoever asks again may be told to retry, and does; what counts is what he hears in the end. Nothing is lost by then, and that
   * all of them have heard is judged before.
   */
  function judgeLastReplies(): void {
    for (const { order, reply } of unanswered())
      violated(`${order.key} ended in ${reply === 'lost' ? 'nothing' : reply.status}`)
  }

  /** Whoever asks again and has no answer, although there is one to be had. */
  function unanswered(): readonly Told[] {
    const last = new Map(heard.map((told) => [told.client, told]))
    return [...last.values()].filter(({ isAskingAgain, order, reply }) => {
      const record = recordOf(database, order)
      const isLeft = record !== undefined && (record.state === 'unknown' || isGivenUp(record))
      return isAskingAgain && (reply === 'lost' || !(isAnswered(reply) || isLeft))
    })
  }

  /** Whether whoever did this can never say so: of such orders there are none under the key of others. */
  function isUnsaid(name: string): boolean {
    return requests.some(({ order }) => isLasting(order.mood) && `${order.tenant}/${order.key}` === name)
  }

  return {
    isSettled() {
      for (const record of database.records()) if (!isSettled(record, world.now())) return false
      const effects = database.effects()
      return effects.every((effect) => isAtRest(effect, effects))
    },
    isWaitedFor: () => waiting.size > 0,
    heardOfAll() {
      const all = () => [...waiting].join(', ')
      demand(waiting.size === 0, () => `nothing is under way, and ${all()} never hears what came of it`)
    },
    isKnownByNow: () => unanswered().some(({ reply }) => reply !== 'lost' && isUnknown(reply)),
    waiting() {
      const apartMs = Math.max(...world.processes.map(({ wallOffsetMs }) => world.databaseJumpMs - wallOffsetMs))
      const records = database.records().filter((record) => !isSettled(record, world.now()))
      waits.judge({ time: world.time, apartMs, records, effects: database.effects(), isUnsaid })
    },
    stuck() {
      const open = [...database.records()].filter((record) => !isSettled(record, world.now()))
      const effects = [...database.effects()].filter(({ state }) => state !== 'done')
      const words = [
        ...open.map((record) => `${record.key} is ${stateInWords(record)}`),
        ...effects.map((effect) => `an effect ${effect.kind} is ${stateInWords(effect)}`),
      ]
      violated(`after a day something is stuck: ${words.join(', ')}`)
    },
    isOver: () => database.records().every(isOver),
    over() {
      const open = database.records().find((record) => !isOver(record))
      demand(open === undefined, () => `${open?.key} is ${open?.state} past its retention, and nobody is told`)
    },
    end() {
      const ledger = actsOfNow()
      for (const effect of database.effects()) judgeLeftDead(effect, ledger)
      judgeAllThatHappened(ledger)
      judgeAllThatWasAnswered(ledger)
      judgeWork(provider.ledger, database.rows('events'))
      judgeLastReplies()
    },
  }
}
