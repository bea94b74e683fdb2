import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { completing, digestOf, reserving, valuesOf } from '../../dist/stores/postgres/arguments.js'
import { queriesFor } from '../../dist/stores/postgres/queries.js'
import { folderWith } from '../../scripts/executables.mjs'
import { installedBinaries } from '../../scripts/postgres/installed-binaries.mjs'
import type { Later } from '../harness/closing.js'
import type { Load } from '../harness/loops.mjs'
import { temporaryFolder } from '../harness/temporary-folder.js'
import { completion, reservation, scope } from './pairs.mjs'

export interface Pgbench {
  readonly versions: Readonly<Record<string, string>>
  readonly pairs: (clients: number, seconds: number) => Promise<Load>
}

/** The store's own two statements, one after the other, as fast as PostgreSQL's own tool can send them. Throws when there is none. */
export async function pgbenchOn(url: string, later: Later): Promise<Pgbench> {
  const server = await installedBinaries(() => undefined)
  const folder = folderWith(['pgbench'], [server.folder])
  if (folder === undefined) throw new Error('it is not installed')
  const program = join(folder, 'pgbench')
  const version = /[\d.]+/.exec((await promisify(execFile)(program, ['--version'])).stdout)?.[0] ?? 'unknown'
  const file = join(temporaryFolder('pgbench', later), 'pair.sql')
  writeFileSync(file, script())
  return {
    versions: { pgbench: version },
    async pairs(clients, seconds) {
      const args = ['-n', '-M', 'prepared', '-c', String(clients), '-j', String(Math.min(2, clients))]
      const asked = [...args, '-T', String(Math.ceil(seconds)), '-f', file, url]
      const { stdout } = await promisify(execFile)(program, asked, { timeout: (seconds + 30) * 1_000 })
      const perSecond = Number(/tps = ([\d.]+)/.exec(stdout)?.[1])
      if (Number.isNaN(perSecond)) throw new Error(`pgbench did not say how fast it was: ${stdout}`)
      // It tells no percentiles, and nobody asks it for its processor time.
      return { perSecond, p50Ms: null, p99Ms: null, p999Ms: null, cpuUs: null, unserved: 0 }
    },
  }
}

/**
 * A key that was drawn twice is one that is there: it does not matter. The database checks the digest of every row; pgbench
 * cannot hash, so it asks the database for what the store has at hand.
 */
function script(): string {
  const { insert, complete } = queriesFor('"hapax"')
  const asked = reservation('bench')
  const claim = { ...asked, generation: 1, fence: 1 }
  return [
    '\\set turn random(1, 9000000000000000)',
    `${filled(insert.text, valuesOf(reserving, asked))};`,
    `${filled(complete.text, valuesOf(completing, { claim, completion }))};`,
  ].join('\n')
}

function filled(text: string, values: ReturnType<typeof valuesOf>): string {
  const digest = digestOf(reservation('bench'))
  const literal = (value: unknown) => {
    if (value === undefined) throw new Error(`A statement has more parameters than the store gives: ${text}`)
    if (value === null) return 'NULL'
    if (value === 'bench') return ':turn::text'
    if (value instanceof Uint8Array)
      return digest.equals(value)
        ? `hapax.digest('${scope}', :turn::text)`
        : `'\\x${Buffer.from(value).toString('hex')}'::bytea`
    // Without its colon: pgbench would take the rest for a variable.
    return typeof value === 'string' ? `'${value.replace(':', '-')}'` : String(value)
  }
  return text.replaceAll(/\s+/g, ' ').replaceAll(/\$(\d+)/g, (_, number) => `(${literal(values[Number(number) - 1])})`)
}
