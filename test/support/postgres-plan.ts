import type { Sent } from './postgres-recorded.js'
import type { FreshSchema } from './postgres-schema.js'

/** How PostgreSQL goes about a statement, as `EXPLAIN` tells. */
export interface Plan {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Relation Name'?: string
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

/**
 * A custom plan knows the values. A generic one, which a named statement may get after some runs, does not. With
 * `ANALYZE` the statement runs as well, and is undone.
 */
export async function planOf(
  { owner }: Pick<FreshSchema, 'owner'>,
  sent: Sent | undefined,
  kind: 'custom' | 'generic',
  running: '' | 'ANALYZE, ' = '',
): Promise<Plan> {
  if (sent === undefined) throw new Error('the store sent no such statement')
  const client = await owner.connect()
  try {
    await client.query(`SET plan_cache_mode = force_${kind}_plan`)
    await client.query(`PREPARE asked AS ${sent.text}`)
    const values = sent.values.map((value) => literal(value, (text) => client.escapeLiteral(text)))
    const given = values.length === 0 ? '' : `(${values.join(', ')})`
    await client.query('BEGIN')
    const { rows } = await client.query(`EXPLAIN (${running}FORMAT JSON) EXECUTE asked${given}`)
    await client.query('ROLLBACK')
    return rows[0]['QUERY PLAN'][0].Plan
  } finally {
    client.release(true)
  }
}

function literal(value: unknown, quoted: (text: string) => string): string {
  if (value === null) return 'NULL'
  return value instanceof Uint8Array ? `'\\x${Buffer.from(value).toString('hex')}'` : quoted(String(value))
}

/** How the plan gets at rows of tables, outermost first. */
export function scansOf(plan: Plan): readonly string[] {
  const { 'Node Type': node, 'Index Name': index, 'Relation Name': table } = plan
  const inner = (plan.Plans ?? []).flatMap(scansOf)
  if (!node.endsWith('Scan') || (index === undefined && table === undefined)) return inner
  return [`${node} on ${index ?? table}`, ...inner]
}

/** Rows that were read and thrown away. */
export function readInVain(plan: Plan): number {
  return (plan['Rows Removed by Filter'] ?? 0) + (plan.Plans ?? []).reduce((sum, inner) => sum + readInVain(inner), 0)
}
