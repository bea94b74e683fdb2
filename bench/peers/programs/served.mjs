import process from 'node:process'
import { answering } from '../../harness/answering.mjs'

/** Tells the bench where it is, and how much processor time it took. Express and Fastify both listen like this. */
export function served(port) {
  answering(() => {
    const { user, system } = process.cpuUsage()
    return { port, cpuMs: (user + system) / 1_000, held: 0, bytes: 0 }
  })
}
