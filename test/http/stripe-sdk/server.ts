import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { migrateSqlite } from 'hapax/sqlite'
import Database from 'libsql'
import { onTestFinished } from 'vitest'
import { bounded } from '../../support/waiting.js'

/** A request came; its handler began; it was refused, since another with its key runs. */
type Said = 'asked' | 'begun' | 'refused'

/** The process of `server.mjs`, behind a network that may lose answers. */
export interface ChargeServer {
  readonly port: number
  /** What the ledger says: the amounts of the charges that were made. Read without Hapax. */
  charges(): number[]
  /** Resolves once the process has said this so many times. */
  heard(said: Said, times?: number): Promise<void>
  count(said: Said): number
  /** Lets the charges that are held go on. */
  go(): void
}

const program = fileURLToPath(new URL('./server.mjs', import.meta.url))

export async function startChargeServer({ losing = 0 }: { readonly losing?: number } = {}): Promise<ChargeServer> {
  const directory = await mkdtemp(join(tmpdir(), 'hapax-stripe-'))
  const path = join(directory, 'ledger.db')
  await migrateSqlite({ path })
  const ledger = new Database(path)
  ledger.exec('CREATE TABLE charges (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL) STRICT')
  const child = spawn(process.execPath, [program, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'close')
  const said: { said: string; port?: number }[] = []
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => said.push(JSON.parse(line)))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
    ledger.close()
    await rm(directory, { recursive: true })
  })
  const of = (what: string) => said.filter((line) => line.said === what)
  const heard = async (what: string, times = 1) => {
    while (of(what).length < times) await bounded(once(lines, 'line'), `"${what}"`)
  }
  await heard('listens')
  return {
    port: await lossyPort(of('listens')[0]?.port ?? 0, losing),
    charges: () =>
      ledger
        .prepare('SELECT amount FROM charges')
        .all()
        .map((row) => Number((row as { amount: unknown }).amount)),
    heard,
    count: (what) => of(what).length,
    go: () => void child.stdin.write('go\n'),
  }
}

/** Cuts the first connections when the answer comes, before a byte of it has left. */
async function lossyPort(target: number, losing: number): Promise<number> {
  let connections = 0
  const network = createServer((client) => {
    const isLost = ++connections <= losing
    const upstream = connect({ host: '127.0.0.1', port: target })
    client.on('data', (bytes) => upstream.write(bytes))
    upstream.on('data', (bytes) => (isLost ? client.destroy() : client.write(bytes)))
    client.on('error', () => {}).on('close', () => upstream.destroy())
    upstream.on('error', () => {}).on('close', () => client.destroy())
  })
  await once(network.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void network.close())
  return (network.address() as AddressInfo).port
}
