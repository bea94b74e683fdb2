import type { Testimony } from '../engine/inbox-store.js'
import { type CallEvidence, isDownstreamKey, testimonyOf } from '../engine/testimony.js'
import { HapaxError } from '../kernel/errors.js'
import type { Log } from '../kernel/log.js'

/** What an event says about one call or effect of ours. */
export type WebhookEvidence = Omit<CallEvidence, 'by'>

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
      // An event about somebody else's call is no reason to refuse it for ever.
      if (isDownstreamKey(evidence.downstreamKey)) said.push(testimonyOf({ ...evidence, by: `webhook:${provider}` }))
      else log({ level: 'warn', code: 'webhook_evidence_ignored', message: ignored(provider) })
    },
    end() {
      isOver = true
      return said
    },
  }
}

function ignored(provider: string): string {
  return `inbox "${provider}": an event names a downstream key that cannot be one of ours; its evidence was left out.`
}
