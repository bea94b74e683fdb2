import { Busy, Declined, type Mood, moodMs } from './moods.js'
import type { Ports } from './world/port-call.js'
import type { Process } from './world/process.js'
import type { Task } from './world/task.js'

/** One thing that the provider did, as its own ledger has it. */
export interface Act {
  readonly id: string
  /** What kind of thing: each service does one. */
  readonly service: string
  /** The key that the request carried. */
  readonly key: string
  /** Whose request asked for it: tenant, key and generation. Of each, one is wanted. */
  readonly subject: string
  readonly at: number
  /** He has denied it, or may have: whoever was told so may ask for it again. */
  readonly isDenied?: true
}

/** By what its webhook is known. Each service numbers its own: those of two may be equal. */
export function eventIdOf({ id, service }: Act): string {
  return id.slice(service.length + 1)
}

/** That somebody asked for something, whatever came of it. */
export interface Ask {
  readonly service: Service
  readonly key: string
  readonly subject: string
}

/** What is known of a service, as its documentation would say it. */
export interface Service {
  readonly name: string
  /** How long it remembers keys: without it, it acts whenever it is asked. */
  readonly remembersMs?: number
  /** How long its lookup lags behind. */
  readonly lagMs?: number
}

export interface Asked {
  readonly service: Service
  readonly key: string
  readonly subject: string
  /** For so long the request may be on its way. */
  readonly timeoutMs: number
  /** The provider says no, and does nothing. */
  readonly isDeclined?: boolean
  /** How it meets this. */
  readonly mood?: Mood | undefined
}

interface ProviderContext extends Ports {
  readonly time: number
  /** On whose behalf it is asked. */
  readonly task: Task | undefined
  crash(process: Process): void
}

/** Somebody outside who does things, with a ledger that is always right. */
export class Provider {
  readonly ledger: Act[] = []
  /** All that it was ever asked for, also what never arrived. */
  readonly asks: Ask[] = []
  /** Called with each act: it may send a webhook. */
  onAct: (act: Act) => void = () => {}
  /** By key, who was told last that it had landed. */
  readonly toldLanded = new Map<string, Process>()
  /** By key, how often somebody was told that nothing had happened. */
  readonly toldNo = new Map<string, number>()
  readonly #ports: ProviderContext

  constructor(ports: ProviderContext) {
    this.#ports = ports
  }

  act(process: Process, asked: Asked): Promise<{ readonly id: string }> {
    const { service, key, subject, timeoutMs } = asked
    if (process.isAlive) this.asks.push({ service, key, subject })
    const { task } = this.#ports
    if (task !== undefined) task.asks++
    const reply = this.#ports.call({
      process,
      port: 'provider',
      words: () => `${process.name} asks for a ${service.name} for ${subject}`,
      happen: () => this.#did({ ...asked, process }),
      broken: brokenLine,
      adrift: brokenLine,
      until: this.#ports.time + timeoutMs,
    })
    if (key !== 'none') this.#notes(process, key, reply)
    return asked.mood === 'answers in no JSON' && this.#ports.time < moodMs ? reply.then(inNoJson) : reply
  }

  find(process: Process, { service, key, mood }: Pick<Asked, 'service' | 'key' | 'mood'>) {
    const reply = this.#ports.call({
      process,
      port: 'provider',
      words: () => `${process.name} asks what became of a ${service.name}`,
      happen: () => {
        if (mood === 'never answers') throw new Error('the provider does not answer')
        if (mood === 'never says' || (mood === 'cannot say' && this.#ports.time < moodMs)) return undefined
        if (mood === 'denies' && this.#ports.time < moodMs) return { landed: false } as const
        const visible = this.#ports.time - (service.lagMs ?? 0)
        const act = this.ledger.find((act) => act.key === key && act.service === service.name && act.at <= visible)
        return act === undefined ? ({ landed: false } as const) : ({ landed: true, result: { id: act.id } } as const)
      },
      broken: brokenLine,
      isTraceless: true,
    })
    this.#notes(
      process,
      key,
      reply.then((said) => said?.landed === true),
    )
    return reply
  }

  /** Who hears what: whoever has crashed hears nothing. */
  #notes(process: Process, key: string, reply: Promise<unknown>): void {
    reply.then(
      (said) => {
        if (said !== false && process.isAlive) this.toldLanded.set(key, process)
      },
      (error) => {
        if (error instanceof Busy && process.isAlive) this.toldNo.set(key, (this.toldNo.get(key) ?? 0) + 1)
      },
    )
  }

  #did({ process, service, key, subject, isDeclined, mood }: Asked & { readonly process: Process }): {
    readonly id: string
  } {
    const { time } = this.#ports
    if (isDeclined || mood === 'declines') throw new Declined('the card has no cover')
    if (mood === 'is closed' || (mood === 'is busy' && time < moodMs)) throw new Busy('not now')
    if (mood === 'ends who asks') {
      this.#ports.crash(process)
      throw brokenLine()
    }
    const known = this.ledger.find(
      (act) => act.key === key && act.service === service.name && time - act.at < (service.remembersMs ?? 0),
    )
    if (known !== undefined) return { id: known.id }
    const earlier = this.ledger.filter((act) => act.service === service.name && act.subject === subject).length
    const id = `${service.name} ${subject}${earlier === 0 ? '' : `, ${earlier + 1}`}`
    const act = {
      id,
      service: service.name,
      key,
      subject,
      at: time,
      ...(mood === 'denies' && { isDenied: true as const }),
    }
    this.ledger.push(act)
    this.onAct(act)
    return { id: act.id }
  }
}

/** What a client of the provider makes of its answer. */
function inNoJson({ id }: { readonly id: string }): { readonly id: string; readonly cents: bigint } {
  return { id, cents: 100n }
}

function brokenLine(): Error {
  return new Error('the line to the provider broke')
}
