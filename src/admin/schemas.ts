import { auditActions } from '../engine/audit-store.js'
import { effectStates } from '../engine/effect-store.js'
import { states } from '../engine/state.js'
import { plainStates } from './plain-states.js'

/**
 * What the API answers, as JSON Schema: a test holds every answer against it, with nothing in it that is not said here. Who
 * reads an answer should let more come, since later releases may tell more.
 */

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const whole = { type: 'integer' } as const
const number = { type: 'number' } as const
const time = { type: 'string', format: 'date-time' } as const
const any = {} as const
const oneOf = (words: readonly string[]) => ({ type: 'string', enum: words }) as const
const list = (items: object) => ({ type: 'array', items }) as const
const counts = { type: 'object', additionalProperties: whole } as const

const object = (required: Readonly<Record<string, object>>, optional: Readonly<Record<string, object>> = {}) => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
})

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const page = (of: string) => object({ items: list(ref(of)) }, { next: text })
const counted = { count: whole, oldest_ms: number }
const doubts = object({ ...counted, left_to_operator: whole })

const effect = {
  required: {
    id: whole,
    kind: text,
    scope: text,
    operation: text,
    phase: text,
    state: oneOf(effectStates),
    downstream_key: text,
    tries: whole,
    looks: whole,
    left_to_operator: flag,
    created_at: time,
  },
  optional: { error_code: text, provider_id: text, doubted_at: time, looked_at_next: time, finished_at: time },
}
const deadLetter = { ...effect.required, age_ms: number, redrive: object({ kind: text }, { why: text }) }

export const schemas = {
  Record: object(
    {
      id: whole,
      scope: text,
      tenant: text,
      key: text,
      record: text,
      operation: text,
      state: oneOf(states),
      generation: whole,
      attempt: whole,
      fence: whole,
      recovery_point: text,
      looks: whole,
      left_to_operator: flag,
      created_at: time,
      last_run_at: time,
    },
    {
      plain_state: oneOf(plainStates),
      status: whole,
      resource: text,
      error_code: text,
      lease_until: time,
      doubted_at: time,
      looked_at_next: time,
      completed_at: time,
      expires_at: time,
    },
  ),
  RecordPage: page('Record'),
  Said: object({ says: oneOf(['landed', 'not_landed', 'completed']), by: text, why: text, at: time }),
  Doubt: object({ since: time, error_code: text, fence: whole, looks: whole }, { ended: ref('Said') }),
  Call: object({
    phase: text,
    downstream_key: text,
    state: oneOf(['begun', 'landed', 'not_landed']),
    generation: whole,
    begun_at: time,
    said: list(ref('Said')),
  }),
  Story: object(
    {
      record: ref('Record'),
      reservations: object({ count: whole, first_at: time, last_at: time }),
      phases: { anyOf: [list(text), oneOf(['unreadable', 'not_kept'])] },
      calls: list(ref('Call')),
      effects: list(ref('Effect')),
      evidence: list(ref('Said')),
      doubts: list(ref('Doubt')),
      operator_actions: list(ref('AuditEntry')),
      sentences: list(text),
    },
    {
      answer: object({ status: whole, bytes: whole, kept: flag, headers: list(list(text)) }),
      reconciler_paused_until: time,
      counts: object({ replays: whole, conflicts: whole, mismatches: whole, met_unknown: whole, since: time }),
    },
  ),
  Written: object({ record: ref('Record'), audit: list(ref('AuditEntry')) }),
  Looked: object({ came: counts, record: ref('Record'), audit: list(ref('AuditEntry')) }),
  LookedAtAll: object({ came: counts, audit: list(ref('AuditEntry')) }),
  Effect: object(effect.required, effect.optional),
  EffectPage: page('Effect'),
  EffectStory: object({
    effect: ref('Effect'),
    said: list(ref('Said')),
    operator_actions: list(ref('AuditEntry')),
    sentences: list(text),
  }),
  EffectWritten: object({ effect: ref('Effect'), audit: list(ref('AuditEntry')) }),
  EffectLooked: object({ came: counts, effect: ref('Effect'), audit: list(ref('AuditEntry')) }),
  DeadLetter: object(deadLetter, effect.optional),
  DeadLetterPage: page('DeadLetter'),
  Changed: object({ effects: list(object({ ...deadLetter, changed: flag }, effect.optional)), not_dead: list(whole) }),
  Stats: object(
    { keys: whole, in_progress: object(counted), unknown: doubts, counted_to: whole },
    { effects: object({ waiting: whole, lag_ms: number, unknown: doubts, dead: whole }) },
  ),
  Tenant: object(
    {
      tenant: text,
      quotas: object({}, { active_keys: whole, stored_bytes: whole, new_keys: object({ most: whole, per: text }) }),
    },
    {
      rates: object({ window_ms: number, requests: whole, duplicates: number, conflicts: number, mismatches: number }),
      usage: object({ keys: whole, bytes: whole }),
    },
  ),
  TenantPage: page('Tenant'),
  Routes: object({
    items: list(
      object(
        { method: text, path: text, verdict: oneOf(['guarded', 'idempotent', 'exempt', 'gap']) },
        { by: text, note: text },
      ),
    ),
  }),
  Workers: object({
    items: list(
      object(
        { name: text },
        {
          last_pass_at: time,
          last_did: counts,
          took_ms: whole,
          last_failed_at: time,
          error_code: text,
          paused: list(object({ of: text, until: time })),
        },
      ),
    ),
    says: text,
  }),
  Health: object({
    fit: flag,
    store: text,
    grade: oneOf(['transactional', 'atomic', 'best-effort']),
    findings: list(object({ check: text, level: oneOf(['ok', 'warning', 'broken']), says: text }, { code: text })),
  }),
  AuditEntry: object({
    sequence: whole,
    at: time,
    who: text,
    why: text,
    action: oneOf(auditActions),
    scope: text,
    subject: text,
    before: any,
    after: any,
    previous: text,
    hash: text,
  }),
  AuditPage: page('AuditEntry'),
  Verified: object(
    { kind: oneOf(['whole', 'broken']) },
    {
      head: object({ sequence: whole, hash: text }),
      sequence: whole,
      what: oneOf(['edited', 'missing', 'moved', 'cut', 'replaced']),
    },
  ),
} as const

/** The name of what an endpoint answers with. */
export type SchemaName = keyof typeof schemas
