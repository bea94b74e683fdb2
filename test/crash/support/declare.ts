import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CrashPoint, crashPoints } from '../../../dist/kernel/crash-points.js'
import { scenarios } from '../scenarios/scenarios.js'
import type { Ground } from './grounds.js'
import { startProvider } from './provider-process.js'
import { type House, stageOn } from './stage.js'
import { startSurvivor } from './survivor-process.js'

/** A process that was killed, and what the provider had at the end. */
interface Kill {
  readonly point: CrashPoint
  readonly how: string
  readonly charges: number
  readonly receipts: number
}

/** Kills a real process at every crash point, or at these, on this store. */
export function declareKills(
  store: string,
  freshGround: () => Promise<Ground>,
  points: readonly CrashPoint[] = crashPoints,
): void {
  const kills: Kill[] = []
  let house: House
  beforeAll(async () => {
    house = { provider: await startProvider(), survivor: startSurvivor() }
  })
  afterAll(async () => {
    await house.survivor.stop()
    await house.provider.stop()
    tell(store, kills)
  })

  describe.concurrent(`a process on ${store} that is killed`, () => {
    for (const point of points) {
      for (const { title, surroundings, play } of scenarios[point]) {
        test(`at ${point}: ${title}`, async () => {
          const ground = await freshGround()
          try {
            const stage = await stageOn(ground, house, surroundings)
            await play(stage)
            kills.push({ point, how: title, charges: await stage.charges(), receipts: await stage.receipts() })
          } finally {
            await ground.dispose()
          }
        })
      }
    }
  })

  test(`none of ${points.length} crash points is without a process that was killed there`, () => {
    const killedAt = new Set(kills.map(({ point }) => point))
    expect(points.filter((point) => !killedAt.has(point))).toEqual([])
  })
}

function tell(store: string, kills: readonly Kill[]): void {
  const sorted = [...kills].sort((a, b) => crashPoints.indexOf(a.point) - crashPoints.indexOf(b.point))
  const lines = sorted.map(
    ({ point, how, charges, receipts }) =>
      `  ${point.padEnd(19)} SIGKILL on ${store}: ${how}; the ledger has ${charges} charges, ${receipts} receipts`,
  )
  process.stdout.write(`${lines.join('\n')}\n`)
}
