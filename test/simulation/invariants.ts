import type { StoredRecord } from '../../src/engine/record.js'
import type { Order, Program } from './application.js'
import { isAnswer, isAnswered, type Replied, type Told } from './client.js'
import type { SimulatedDatabase } from './database/database.js'
import { judgeAct } from './invariants/acts.js'
import {
  holds,
  judgeDoubted,
  judgeHeard,
  judgeMinted,
  judgeMismatch,
  judgeRoute,
  judgeSent,
} from './invariants/answers.js'
import { judgeAsk, judgeKey } from './invariants/asks.js'
import { isAtRest, isLeftOver, judgeDead, judgeLeftDead } from './invariants/dead.js'
import { judgeDoubt, judgeSwept } from './invariants/doubts.js'
import { isNotLanded, judgeEffect } from './invariants/effects.js'
import { isOver, isSettled, judgeEnd, judgeHappened } from './invariants/ends.js'
import { judgeHeardOf, judgeResolved, judgeTold, noteLanded } from './invariants/evidence.js'
import { judgeFence } from './invariants/fences.js'
import { keyLives, oncePerLife } from './invariants/lives.js'
import { judgeAsker, judgeMalformed, judgeSender } from './invariants/misspelt.js'
import { patience, stateInWords } from './invariants/patience.js'
import { isOvertaken, judgeChange, nameOf, recordChanges } from './invariants/records.js'
import { judgeRefusal, judgeRefused, noteChange } from './invariants/refusals.js'
import { retention } from './invariants/retention.js'
import { rowChanges } from './invariants/row-changes.js'
import { sentAway } from './invariants/sent-away.js'
import { judgeAcknowledged, judgeEvent, judgeLeft } from './invariants/webhooks.js'
import type { Act, Provider } from './provider.js'
import type { Reached } from './reached.js'
import { demand } from './violation.js'
import type { Task } from './world/task.js'
import type { World } from './world/world.js'

/** What must hold, at every step and at the end. Each throws a Violation that says what does not. */
export interface Invariants {
  step(): void
  /** A node begins to send this, for this task. Gives what the key stands for by now. */
  sending(task: Task, order: Order, reply: Replied): number
  /** The provider hears that what it tells of this has arrived. */
  acknowledged(act: Act): void
  /** A person is about to say what became of the call or effect with this downstream key. */
  leftToPeople(key: string): void
  /** Whether workers and providers have nothing left to do. */
  isSettled(): boolean
  /** Before each pass of the workers, when nothing goes wrong any more: nothing has waited for too long. */
  waiting(): void
  /** Everything has had its time, and something is not settled. */
  stuck(): never
  end(): void
  /** Whether nothing waits for its client. */
  isOver(): boolean
  /** Whatever waited for a client that has not come back has come to its end, or to a person. */
  over(): void
  /** What later judgements depend on beside what is there, in short. */
  memory(): string
}

interface Judged {
  readonly world: World
  readonly database: SimulatedDatabase
  readonly provider: Provider
  readonly heard: readonly Told[]
  readonly requests: readonly { readonly program: Program; readonly order: Order }[]
  readonly duplicates: 'reject' | 'wait'
  /** Where requests share statements, or one goes on when another ends, nobody can say which of them wrote a row. */
  readonly work: 'own' | 'shared'
  /** What is noted while something can still go wrong; `undefined` afterwards. */
  readonly reached: () => Reached | undefined
}

export function invariants({
  world,
  database,
  provider,
  heard,
  requests,
  work,
  duplicates,
  reached,
}: Judged): Invariants {
  const takeChanges = recordChanges(database, () => world.now())
  const kept = retention()
  const away = sentAway()
  const waits = patience()
  const takeEffectChanges = rowChanges(database.tables.effects)
  const takeEventChanges = rowChanges(database.tables.events)
  const lives = keyLives()
  /** By downstream key, how often an effect was found not to have landed. */
  const notLanded = new Map<string, number>()
  const acts = oncePerLife(lives, provider.ledger)
  const asks = oncePerLife(lives, provider.asks)
  /** By downstream key, what was first asked for under it. */
  const subjects = new Map<string, string>()
  /** Answers whose time was over, and that were buried since, or their keys used anew: whoever came before may still send one. */
  const overtaken: { readonly record: StoredRecord; readonly at: number }[] = []
  /** By downstream key, since when it is on record that it has landed. */
  const landed = new Map<string, number>()
  /** What each claim found, by its id. */
  const found = new Map<string, StoredRecord | undefined>()
  let told = 0
  /** How much had been written when the rows were last looked at: nothing else changes them. */
  let looked = 0
  /** What was found out while somebody else's code ran: it is thrown where it ends the run. */
  let broken: unknown

  const known = {
    records: database.records,
    notLanded: (key: string) => notLanded.get(key) ?? 0,
    toldNo: provider.toldNo,
  }
  const recordOf = ({ tenant, key }: Order): StoredRecord | undefined =>
    database.tables.records.get(`${tenant}\n${key}`)?.committed?.record
  /** Of its generation: one that is used anew may have written its own by now. */
  const openEffects = (record: StoredRecord | undefined): number => {
    let open = 0
    for (const { recordId, generation, state } of database.effects())
      if (recordId === record?.id && generation <= record.generation && state !== 'done' && state !== 'discarded')
        open++
    return open
  }

  /** Judges while somebody else's code runs. */
  function meanwhile(judge: () => void): void {
    try {
      judge()
    } catch (error) {
      broken ??= error
    }
  }

  /** What the last step has written, judged and put down to its task. */
  function lookAtRows(): void {
    if (looked !== world.writes) lookAtChanges()
    if (database.metByReaper.length > 0) for (const met of database.metByReaper.splice(0)) reached()?.reaper(met)
    if (database.fencedWrites.length === 0) return
    for (const write of database.fencedWrites.splice(0)) judgeFence(write)
  }

  function lookAtChanges(): void {
    looked = world.writes
    const { task } = world
    for (const change of takeChanges()) {
      judgeChange(change, {
        now: change.at,
        keptSince: () => kept.since(nameOf(change)),
        openEffects: () => openEffects(change.before),
        isHolders: () => database.fencedWrites.some((write) => write.of === 'record' && write.before === change.before),
      })
      if (world.isTimely) judgeDoubt(change, provider.asks)
      judgeSwept(change)
      // A duplicate that waits asks several times: what is on its way since the first cannot be called back, only given back.
      if (!world.isAdrift) away.judge(change)
      reached()?.record(change)
      lives.note(change)
      kept.note(change)
      if (isOvertaken(change)) overtaken.push({ record: change.before, at: world.noted++ })
      if (task !== undefined) noteChange(task, change, { now: world.now(), isAdrift: world.isAdrift, found })
    }
    for (const change of takeEffectChanges()) {
      judgeEffect(change, world.now())
      judgeDead(change, world.now())
      judgeResolved(change, database.testimonies())
      reached()?.effect(change)
      const key = change.before?.downstreamKey
      if (key !== undefined && isNotLanded(change)) notLanded.set(key, known.notLanded(key) + 1)
    }
    if (database.tables.testimonies.size > 0) noteLanded(database.testimonies(), landed, () => world.noted++)
    if (database.tables.events.size === 0) return
    for (const { after } of takeEventChanges())
      if (after !== undefined) judgeEvent(after, provider.ledger, database.testimonies())
  }

  /**
   * What is sent is what is stored now, or was while the request was there: who made an answer himself, and was stopped until
   * its time was over and its key was used anew, sends the one that was stored then; and so does who has read one that was
   * buried before he sent it.
   */
  function recordBehind({ begunAfter }: Task, order: Order, sent: Replied): StoredRecord | undefined {
    const earlier = overtaken.find(
      ({ record, at }) => isNamed(record, order) && holds(record, sent) && (!sent.isReplay || at >= begunAfter),
    )
    return earlier?.record ?? recordOf(order)
  }

  function judgeReply(task: Task, order: Order, sent: Replied, record: StoredRecord | undefined, name: string): void {
    if (order.misspelt !== undefined) {
      judgeMalformed(sent, name)
      reached()?.note('a key that was malformed')
      return
    }
    if (sent.isReplay) reached()?.note('a replay')
    if (away.told(task, sent, name, (claimId) => found.has(claimId))) reached()?.note('a request that was sent away')
    if (work === 'own') judgeMinted(task, order, sent)
    if (sent.status >= 500 && isAnswer(sent)) reached()?.note('a failure that is an answer')
    if (isAnswer(sent)) judgeSent(order, sent, record)
    else if (work === 'own') judgeRefusal(task, sent, name, world.isUnharmed && world.isTimely)
  }

  return {
    memory() {
      const asked = provider.asks.map(({ service, key, subject }) => [service.name, key, subject])
      const claims = [...found].map(([id, record]) => [id, record?.state, record?.fence])
      const gone = overtaken.map(({ record, at }) => [record.scope, record.key, record.generation, at])
      return JSON.stringify([asked.sort(), [...notLanded], claims.sort(), gone, [...landed], kept, lives, away])
    },
    step() {
      if (broken !== undefined) throw broken
      lookAtRows()
      if (world.task !== undefined) judgeRefused(world.task, 'a request')
      for (const { one, earlier } of asks.next()) {
        judgeAsker(world.task, one)
        judgeKey(one, subjects)
        judgeAsk(one, earlier, known)
        if (earlier > 0) judgeTold(one, world.task, landed)
      }
      for (const { one, earlier } of acts.next()) judgeAct(one, earlier === 0, database.effects)
      for (; told < heard.length; told++) {
        const now = heard[told]
        if (now === undefined) continue
        judgeHeard(now, heard, told, duplicates)
        judgeMismatch(now, requests)
        judgeRoute(now)
        judgeDoubted(now)
      }
    },
    sending(task, order, sent) {
      const name = `${order.tenant}/${order.key}`
      let record: StoredRecord | undefined
      meanwhile(() => {
        lookAtRows()
        record = recordBehind(task, order, sent)
        judgeReply(task, order, sent, record, name)
      })
      // Whoever uses the key of an answer whose time is over has it before that shows.
      const isAnew = !isAnswer(sent) && (record?.expiresAt ?? Number.POSITIVE_INFINITY) <= world.now()
      return lives.of(name) * 1_000 + (record?.generation ?? 0) + (isAnew ? 1 : 0)
    },
    acknowledged: (act) => meanwhile(() => judgeAcknowledged(database, act)),
    leftToPeople: (key) =>
      meanwhile(() => {
        judgeLeft(key, database.testimonies())
        judgeHeardOf(key, provider.toldLanded)
      }),
    isSettled() {
      for (const record of database.records()) if (!isSettled(record, world.now())) return false
      const effects = database.effects()
      return effects.every((effect) => isAtRest(effect, effects))
    },
    waiting() {
      const apartMs = Math.max(...world.processes.map(({ wallOffsetMs }) => world.databaseJumpMs - wallOffsetMs))
      const records = database.records().filter((record) => !isSettled(record, world.now()))
      waits.judge({ time: world.time, apartMs, records, effects: database.effects() })
    },
    stuck() {
      const open = [...database.records()].filter((record) => !isSettled(record, world.now()))
      const effects = [...database.effects()].filter(({ state }) => state !== 'done')
      const words = [
        ...open.map((record) => `${record.key} is ${stateInWords(record)}`),
        ...effects.map((effect) => `an effect ${effect.kind} is ${stateInWords(effect)}`),
      ]
      demand(false, () => `after a day something is stuck: ${words.join(', ')}`)
      throw new Error('unreachable')
    },
    isOver: () => database.records().every(isOver),
    over() {
      const open = database.records().find((record) => !isOver(record))
      demand(open === undefined, () => `${open?.key} is ${open?.state} past its retention, and nobody is told`)
    },
    end() {
      const ledger = acts.ofThisLife()
      const effects = database.effects()
      for (const effect of effects) judgeLeftDead(effect, ledger)
      const hasRow = (table: string, id: string) => database.rows(table).some((row) => row.id === id)
      const recordNamed = (name: string) => database.tables.records.get(name.replace('/', '\n'))?.committed?.record
      for (const { service, subject, isDenied } of ledger)
        judgeHappened({ what: service, subject, isDenied }, recordNamed)
      for (const { committed: row } of database.tables.rows.values())
        if (row !== undefined && row.table !== 'events')
          judgeHappened({ what: row.table, subject: row.id }, recordNamed)
      for (const record of database.records()) {
        judgeSender(record, requests)
        judgeEnd(record.operation as Program, record, {
          ledger,
          hasRow,
          isLeftOver: (subject) => isLeftOver(subject, effects),
        })
      }
      for (const { id } of provider.ledger) {
        const times = database.rows('events').filter((row) => row.id.startsWith(`${id} at `)).length
        demand(times <= 1, () => `the event of ${id} was worked on ${times} times`)
      }
      // Whoever asks again may be told to retry, and does; what counts is what it hears in the end.
      const last = new Map(heard.map((told) => [told.client, told]))
      for (const { isAskingAgain, order, reply } of last.values()) {
        if (!isAskingAgain || reply === 'lost') continue
        const isUnknown = recordOf(order)?.state === 'unknown'
        demand(isAnswered(reply) || isUnknown, () => `${order.key} ended in ${reply.status}`)
      }
    },
  }
}

function isNamed({ scope, key }: StoredRecord, order: Order): boolean {
  return scope === order.tenant && key === order.key
}
