import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { crashPoints } from '../../src/kernel/crash-points.js'
import { scenarios } from './scenarios/scenarios.js'

const source = new URL('../../src/', import.meta.url)

/** The crash points that the code says it passes, by the text of the call. */
function passed(): Set<string> {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const calls = files.flatMap((file) => [
    ...readFileSync(new URL(file, source), 'utf8').matchAll(/\bpassing\('(.+?)'\)/g),
  ])
  return new Set(calls.map(([, point = '']) => point))
}

test('every crash point is passed by the code, and every one that is passed is on the list', () => {
  expect([...passed()].sort()).toEqual([...crashPoints].sort())
})

test('every crash point has a process to be killed there', () => {
  const withoutKill = crashPoints.filter((point) => (scenarios[point] ?? []).length === 0)
  expect(withoutKill).toEqual([])
})
