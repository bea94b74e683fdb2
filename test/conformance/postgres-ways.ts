import { afterAll, test } from 'vitest'
import { noPooler, noServer, poolerUrl, serverUrl } from '../support/on-postgres.js'
import { declareConformance } from './declare.js'
import { type Ground, postgresHarness, type Way } from './postgres-harness.js'

/** Where the server is, and where the nodes connect: to the server itself, or to the pooler in front of it. */
export type Reach = Pick<Way<unknown>, 'serverUrl' | 'url' | 'connection'>

export function direct(): Reach | { readonly missing: string } {
  return serverUrl === undefined ? { missing: noServer } : { serverUrl, url: serverUrl, connection: 'direct' }
}

export function pooled(): Reach | { readonly missing: string } {
  if (serverUrl === undefined) return { missing: noServer }
  return poolerUrl === undefined ? { missing: noPooler } : { serverUrl, url: poolerUrl, connection: 'pooler' }
}

/** The whole suite on one way to reach PostgreSQL. Each way has a file of its own, so that they run side by side. */
export function declareWay<Tx>(reach: Reach | { readonly missing: string }, way: Omit<Way<Tx>, keyof Reach>): void {
  if ('missing' in reach) {
    test.skip(`the ${way.name} store (skipped: ${reach.missing})`, () => {})
    return
  }
  const kept: Ground[] = []
  declareConformance(postgresHarness({ ...way, ...reach }, kept))
  afterAll(async () => {
    for (const ground of kept) await ground.drop()
  })
}
