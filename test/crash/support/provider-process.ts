import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { bounded } from '../../support/waiting.js'

/** The provider: one process for all scenarios of a file, which are told apart by their scope. */
export interface Provider {
  readonly url: string
  /** What it has done for this scope, as its ledger has it. */
  ledger(scope: string): Promise<readonly Entry[]>
  stop(): Promise<void>
}

export interface Entry {
  readonly id: string
  readonly key: string
  readonly what: { readonly scope: string; readonly charge?: unknown; readonly receipt?: unknown }
}

const program = fileURLToPath(new URL('../provider.mjs', import.meta.url))

export async function startProvider(): Promise<Provider> {
  const directory = await mkdtemp(join(tmpdir(), 'hapax-provider-'))
  const child = spawn(process.execPath, [program, join(directory, 'ledger')], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'close')
  const [line] = await bounded(once(createInterface({ input: child.stdout }), 'line'), 'the provider to listen')
  const { url } = JSON.parse(line) as { readonly url: string }
  return {
    url,
    async ledger(scope) {
      const all = (await (await fetch(`${url}/ledger`)).json()) as readonly Entry[]
      return all.filter(({ what }) => what.scope === scope)
    },
    async stop() {
      child.stdin.end()
      await bounded(exited, 'the provider to end')
      await rm(directory, { recursive: true })
    },
  }
}
