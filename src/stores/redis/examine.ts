import type { Finding } from '../../engine/finding.js'
import { HapaxError } from '../../kernel/errors.js'
import { redisBounds } from '../../kernel/limits.js'
import type { Connection, Given } from './connection.js'
import { listOf, textOf } from './reply.js'
import { open } from './scripts/open.js'

/** How the keys of this release lie in Redis. */
const layout = '1'

/** Bytes that are no text in any encoding: a client that takes them for some would spoil every answer. */
const bytes = Buffer.from([0x00, 0xff, 0x0d, 0x0a, 0xc3, 0x28])

/** Marks how the keys lie, where there are none yet, and refuses to start on what would break a promise. */
export async function opened(connection: Connection, root: string): Promise<void> {
  for (const finding of await looked(connection, root, { layout, bytes }))
    if (finding.level === 'broken') throw new HapaxError(finding.code, finding.says)
}

/** Looks at the server for whatever a promise depends on, and changes nothing. */
export function examined(connection: Connection, root: string): Promise<readonly Finding[]> {
  return looked(connection, root, { bytes })
}

async function looked(connection: Connection, root: string, given: Given): Promise<readonly Finding[]> {
  const [there, echoed, info] = listOf(await connection.run(open, [root], given))
  const client = clientFinding(echoed)
  if (client.level === 'broken') return [client]
  const said = textOf(info)
  const about = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(said)?.[1] ?? ''
  if (said === '') return [client, layoutFinding(textOf(there)), unasked]
  return [
    client,
    layoutFinding(textOf(there)),
    versionFinding(about('redis_version')),
    evictionFinding(about('maxmemory_policy')),
    durabilityFinding(about('aof_enabled'), Number(about('connected_slaves'))),
  ]
}

const unasked: Finding = {
  check: 'server',
  level: 'warning',
  says: 'This user may not ask INFO: whether the server evicts keys, and how much it may forget, nobody could check.',
}

function clientFinding(echoed: unknown): Finding {
  if (Buffer.isBuffer(echoed) && echoed.equals(bytes))
    return { check: 'client', level: 'ok', says: 'gives bytes as they are' }
  const says = 'The client does not give bytes as they are. Hand in one of ioredis from 5, or of redis from 5.'
  return { check: 'client', level: 'broken', code: 'store_version_unsupported', says }
}

function layoutFinding(there: string): Finding {
  if (there === '') return { check: 'layout', level: 'ok', says: 'nothing is there yet' }
  if (there === layout) return { check: 'layout', level: 'ok', says: `version ${layout}` }
  const says = `The keys under this prefix are of layout ${there}, and this release knows ${layout}. Update, or choose another prefix.`
  return { check: 'layout', level: 'broken', code: 'store_schema_newer', says }
}

function versionFinding(version: string): Finding {
  if (Number.parseInt(version, 10) >= redisBounds.oldestVersion) return { check: 'version', level: 'ok', says: version }
  const says = `This is Redis ${version}. Use ${redisBounds.oldestVersion}.0 or later.`
  return { check: 'version', level: 'broken', code: 'store_version_unsupported', says }
}

/** No key of ours ever has a time to live, so that policies which take only such keys take none of ours. */
function evictionFinding(policy: string): Finding {
  if (!policy.startsWith('allkeys')) return { check: 'eviction', level: 'ok', says: `${policy}: no record is evicted` }
  const says = `The server evicts keys when its memory is full (maxmemory-policy ${policy}): a record that it evicts is run again. Set maxmemory-policy noeviction, or use another server for records; this one will do as a cache.`
  return { check: 'eviction', level: 'broken', code: 'store_not_durable', says }
}

function durabilityFinding(aof: string, replicas: number): Finding {
  const disk = aof === '1' ? 'up to a second (appendonly yes)' : 'everything since its last snapshot (appendonly no)'
  const copies = replicas > 0 ? 'A failover forgets what its replica has not heard of.' : 'There is no replica.'
  const says = `This store is of the grade best-effort: a crash of the server forgets ${disk}. ${copies}`
  return { check: 'durability', level: 'warning', says }
}
