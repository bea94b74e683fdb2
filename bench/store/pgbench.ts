import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { queriesFor } from '../../src/stores/postgres/queries.js'
import { body, type Load } from './load.js'

interface Wanted {
  readonly url: string
  readonly clients: number
  readonly seconds: number
}

/** The store's own two statements, one after the other, as fast as PostgreSQL's own tool can send them. */
export async function pgbench({ url, clients, seconds }: Wanted): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-pgbench-'))
  const file = join(folder, 'pair.sql')
  writeFileSync(file, script())
  const args = ['-n', '-M', 'prepared', '-c', String(clients), '-j', '2', '-T', String(seconds), '-f', file, url]
  try {
    const { stdout } = await promisify(execFile)('pgbench', args, { timeout: (seconds + 30) * 1_000 }).catch(
      (error) => {
        throw new Error(
          `pgbench failed: ${error.code === 'ENOENT' ? 'it is not on the PATH' : error.stderr.slice(0, 500)}`,
        )
      },
    )
    const perSecond = Number(/tps = ([\d.]+)/.exec(stdout)?.[1])
    if (Number.isNaN(perSecond)) throw new Error(`pgbench did not say how fast it was: ${stdout}`)
    return { perSecond }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** In the order of the statements' parameters. A key that was drawn twice is one that is there: it does not matter. */
function script(): string {
  const { insert, complete } = queriesFor('"hapax"')
  const key = ':turn::text'
  const digest = `hapax.digest('pgbench', ${key})`
  // Without its colon: pgbench would take the rest for a variable.
  const fingerprint = `'sha256-v1-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'`
  const reserving = [
    digest,
    `'pgbench'`,
    key,
    key,
    `'payments.create'`,
    fingerprint,
    `'doubt'`,
    '86400000',
    '86400000',
    '30000',
  ]
  const headers = `'[["content-type","application/json"]]'`
  const completing = [digest, '1', key, '1', '201', headers, `'\\x${body.toString('hex')}'::bytea`, 'NULL', '1']
  return [
    '\\set turn random(1, 9000000000000000)',
    `${filled(insert.text, reserving)};`,
    `${filled(complete.text, completing)};`,
  ].join('\n')
}

function filled(text: string, values: readonly string[]): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/\$(\d+)/g, (_, number) => `(${values[Number(number) - 1]})`)
}
