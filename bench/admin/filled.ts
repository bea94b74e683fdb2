import { createHash } from 'node:crypto'
import type pg from 'pg'
import { recordDigest } from '../../dist/engine/digest.js'
import type { RecordName } from '../../dist/engine/record.js'
import { cell, copied } from '../harness/copied.js'
import { withoutIndexes } from '../harness/filled.js'
import type { Ground } from './actions.js'

/** How much of each there is. */
export interface Extent {
  readonly records: number
  readonly effects: number
  readonly calls: number
  readonly entries: number
}

const tenants = 1_000
const operations = 20
export const kindNames = ['kind-0', 'kind-1', 'kind-2', 'kind-3', 'kind-4'] as const
const second = 1_000
const day = 86_400 * second

/** A second apart each, in a thousand tenants: mostly answers, a little under way, failed or unknown. */
export async function filled(pool: pg.Pool, { records, effects, calls, entries }: Extent, now: number): Promise<void> {
  const at = (ms: number) => new Date(ms).toISOString()
  const begun = (i: number) => at(now - (records - i) * second)
  await copy(pool, 'records', recordColumns, records, (i) => {
    const status = statusOf(i)
    const isCompleted = status === 'completed'
    const { scope, key } = nameOf(i)
    return [
      ...[recordDigest(nameOf(i)), scope, key, 1, 1, key, status, `operation-${i % operations}`, '1.bench:aa', 1],
      ...[status === 'in_progress' ? at(now + (i % 60) * second) : undefined, 'doubt'],
      isCompleted ? 'finished' : 'started',
      ...(isCompleted
        ? [201, `[["location","/payments/${i}"]]`, body, 1]
        : [undefined, undefined, undefined, undefined]),
      ...['[]', begun(i), begun(i), at(now + day), day, day],
      ...(status === 'unknown' ? [begun(i), at(now + day)] : [undefined, undefined]),
    ]
  })
  await copy(pool, 'effects', effectColumns, effects, (i) => [
    ...[i, nameOf(i).scope, `operation-${i % operations}`, 1, 'finished', 1, kindOf(i), body],
    ...[`effect-${i}`, begun(i)],
  ])
  await copy(pool, 'effect_states', stateColumns, effects, (i) => {
    const state = effectStateOf(i)
    const doneAt = state === 'done' ? begun(i) : undefined
    return [i, i, nameOf(i).scope, kindOf(i), state, begun(i), doneAt, 1]
  })
  await copy(pool, 'calls', callColumns, calls, (i) => [
    ...[`call-${i}`, i, nameOf(i).scope, `operation-${i % operations}`, 1, 'charged', 'landed', begun(i)],
  ])
  await copy(pool, 'testimonies', testimonyColumns, calls, (i) => [
    `call-${i}`,
    'landed',
    'webhook',
    'told so',
    begun(i),
  ])
  await copy(pool, 'audit', auditColumns, entries, (i) => [
    ...[i, now, 'ann', 'purge', nameOf(i).scope, `record:${i}`, 'why', '{}', '{}', '', ''],
  ])
  await pool.query(`INSERT INTO hapax.audit_head (one, sequence, hash) VALUES (1, ${entries}, '')`)
  await pool.query('VACUUM (ANALYZE)')
}

/** One tenant of these, and what there is to act on: each is given out once. */
export function groundOf(now: number): Ground {
  const every = (first: number, apart: number) => {
    let next = first
    return () => {
      const given = next
      next += apart
      return given
    }
  }
  const [completed, unknown] = [every(500, tenants), every(unknownAt, tenants)]
  const { scope, key } = nameOf(tenants + 7)
  return {
    ...{ tenant: scope, key, prefix: key.slice(0, 4), resource: `/payments/${tenants + 7}`, now },
    ...{ operation: 'operation-7', kind: 'kind-1' },
    completed: () => nameOf(completed()),
    unknown: () => nameOf(unknown()),
    dead: every(99, 100),
    doubted: every(98, 100),
  }
}

const body = Buffer.from('{}')
const unknownAt = 5

function nameOf(i: number): RecordName {
  const key = createHash('md5').update(String(i)).digest('hex')
  return { scope: `tenant-${i % tenants}`, key } as unknown as RecordName
}

function statusOf(i: number): 'in_progress' | 'failed_retryable' | 'unknown' | 'completed' {
  const place = i % tenants
  if (place < 3) return 'in_progress'
  if (place < unknownAt) return 'failed_retryable'
  return place === unknownAt ? 'unknown' : 'completed'
}

function effectStateOf(i: number): 'done' | 'ready' | 'unknown' | 'dead' {
  const place = i % 100
  if (place < 97) return 'done'
  if (place === 97) return 'ready'
  return place === 98 ? 'unknown' : 'dead'
}

function kindOf(i: number): string {
  return kindNames[i % kindNames.length] as string
}

type Cells = readonly (string | number | Uint8Array | undefined)[]

async function copy(pool: pg.Pool, table: string, columns: string, count: number, row: (i: number) => Cells) {
  function* rows() {
    for (let i = 1; i <= count; i++) yield row(i).map(cell)
  }
  await withoutIndexes(pool, `hapax.${table}`, async () => {
    const client = await pool.connect()
    try {
      await copied(client, `hapax.${table} (${columns})`, rows())
    } finally {
      client.release()
    }
  })
}

const recordColumns = `digest, scope_id, idempotency_key, generation, fence, claim_id, status, operation, request_fingerprint, attempt,
  locked_until, on_lease_over, recovery_point, response_status_code, response_headers, response_body, response_schema_version,
  evidence, created_at, last_run_at, expires_at, retention_ms, tombstone_ms, doubted_at, reconcile_after`
const effectColumns =
  'record_id, scope_id, operation, generation, phase, sequence, kind, payload, downstream_key, created_at'
const stateColumns = 'effect_id, record_id, scope_id, kind, state, due_at, finished_at, fence'
const callColumns = 'downstream_key, record_id, scope_id, operation, generation, phase, state, begun_at'
const testimonyColumns = 'downstream_key, says, said_by, why, said_at'
const auditColumns = 'sequence, at_ms, who, action, scope_id, subject, why, before, after, previous, hash'
