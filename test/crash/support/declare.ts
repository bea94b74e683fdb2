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
  readonly entries: number
}

/** Kills a real process at every crash point, on this store. */
export function declareKills(store: string, freshGround: () => Promise<Ground>): void {
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
    for (const point of crashPoints) {
      for (const { title, surroundings, play } of scenarios[point]) {
        test(`at ${point}: ${title}`, async () => {
          const ground = await freshGround()
          try {
            const stage = await stageOn(ground, house, surroundings)
            await play(stage)
            kills.push({ point, how: title, entries: (await stage.ledger()).length })
          } finally {
            await ground.dispose()
          }
        })
      }
    }
  })

  test('no crash point is without a process that was killed there', () => {
    const killedAt = new Set(kills.map(({ point }) => point))
    expect(crashPoints.filter((point) => !killedAt.has(point))).toEqual([])
  })
}

function tell(store: string, kills: readonly Kill[]): void {
  const sorted = [...kills].sort((a, b) => crashPoints.indexOf(a.point) - crashPoints.indexOf(b.point))
  const lines = sorted.map(
    ({ point, how, entries }) => `  ${point.padEnd(19)} SIGKILL on ${store}: ${how}; ledger ${entries}`,
  )
  process.stdout.write(`${lines.join('\n')}\n`)
}
