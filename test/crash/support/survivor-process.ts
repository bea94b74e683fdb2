import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { bounded, gate } from '../../support/waiting.js'

/** The process that recovers: one for all scenarios of a file, since it keeps nothing from one job to the next. */
export interface Survivor {
  play<Came extends unknown[]>(job: object): Promise<Came>
  stop(): Promise<void>
}

interface Said {
  readonly id: number
  readonly came?: unknown[]
  readonly complaint?: string
}

const program = fileURLToPath(new URL('../survivor.mjs', import.meta.url))

export function startSurvivor(): Survivor {
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'close')
  const waiting = new Map<number, (said: Said) => void>()
  let jobs = 0
  createInterface({ input: child.stdout }).on('line', (line) => {
    const said = JSON.parse(line) as Said
    waiting.get(said.id)?.(said)
    waiting.delete(said.id)
  })
  return {
    async play<Came extends unknown[]>(job: object) {
      const id = jobs++
      const { opened, open } = gate<Said>()
      waiting.set(id, open)
      child.stdin.write(`${JSON.stringify({ id, ...job })}\n`)
      const { came, complaint } = await bounded(opened, 'the survivor', 30_000)
      if (came === undefined) throw new Error(complaint)
      return came as Came
    },
    async stop() {
      child.stdin.end()
      await bounded(exited, 'the survivor to end')
    },
  }
}
