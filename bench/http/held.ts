import { setTimeout as sleep } from 'node:timers/promises'
import type { Hold } from './client.mjs'
import { type Site, usage } from './site.js'

const patienceMs = 20_000

/** While so many requests stay in their handler. */
export async function whileHeld<Result>(
  site: Site,
  { count, bodyBytes }: { readonly count: number; readonly bodyBytes: number },
  work: () => Promise<Result>,
): Promise<Result> {
  const { port } = await usage(site)
  await site.client.ask({ kind: 'hold', target: { port, path: site.path, bodyBytes }, count } satisfies Hold)
  try {
    await untilHeld(site, count)
    return await work()
  } finally {
    await usage(site, 'release')
    await untilHeld(site, 0)
    await site.client.ask({ kind: 'let go' })
  }
}

async function untilHeld(site: Site, count: number): Promise<void> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const { held } = await usage(site)
    if (held === count) return
    if (performance.now() > deadline) throw new Error(`${site.name} holds ${held} requests, not ${count}.`)
    await sleep(5)
  }
}
