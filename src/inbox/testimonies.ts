import type { Testimony } from '../engine/inbox-store.js'
import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import type { Log } from '../kernel/log.js'

/** What an event says about one call or effect of ours. */
export interface WebhookEvidence {
  /** The key that the call carried, as the provider gives it back. */
  readonly downstreamKey: string
  readonly says: Testimony['says']
  /** What the call would have returned, as plain data. */
  readonly result?: unknown
  /** On what grounds, for people: `event payment.succeeded`. */
  readonly why: string
}

/** Gathers what a handler says, while its transaction lasts. */
export interface Testimonies {
  readonly evidence: (evidence: WebhookEvidence) => void
  /** All that was said. Whatever is said later would be lost, and is refused. */
  end(): readonly Testimony[]
}

export function testimoniesOf(provider: string, log: Log): Testimonies {
  const said: Testimony[] = []
  let isOver = false
  return {
    evidence(evidence) {
      if (isOver) throw new HapaxError('transaction_ended', 'Give evidence before handle has returned, or it is lost.')
      const testimony = testimonyOf(provider, evidence)
      if (isKey(evidence.downstreamKey)) said.push(testimony)
      else log({ level: 'warn', code: 'webhook_evidence_ignored', message: ignored(provider) })
    },
    end() {
      isOver = true
      return said
    },
  }
}

function testimonyOf(provider: string, { downstreamKey, says, result, why }: WebhookEvidence): Testimony {
  if (says !== 'landed' && says !== 'not_landed') {
    throw new HapaxError('policy_invalid', `Inbox "${provider}": evidence says 'landed' or 'not_landed'.`)
  }
  const told = { downstreamKey, says, by: `webhook:${provider}`, why: printed(why) }
  return result === undefined ? told : { ...told, result: jsonBytes(result) }
}

/** No call of ours had another kind of key. An event about somebody else's call is no reason to refuse it for ever. */
function isKey(key: unknown): boolean {
  return typeof key === 'string' && key.length <= limits.keyLength && /^[\x21-\x7e]+$/.test(key)
}

/** Grounds are never refused. Some databases cannot keep a NUL, and no log should be made to jump. */
function printed(why: unknown): string {
  return String(why ?? '')
    .slice(0, limits.whyLength)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '?')
}

function jsonBytes(result: unknown): Uint8Array {
  let text: string | undefined
  try {
    text = JSON.stringify(result)
  } catch (cause) {
    throw new HapaxError('input_not_json', 'The result in the evidence cannot be written as JSON.', { cause })
  }
  if (text === undefined) throw new HapaxError('input_not_json', 'The result in the evidence is no data.')
  return new TextEncoder().encode(text)
}

function ignored(provider: string): string {
  return `inbox "${provider}": an event names a downstream key that cannot be one of ours; its evidence was left out.`
}
