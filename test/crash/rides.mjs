/**
 * The victim: a process that takes rides, and is killed where it is told to be. It is given one job as JSON: a store, a
 * provider, the steps to make one after another, and a crash point. It ends itself there with SIGKILL, which nothing can
 * catch, and has said nothing by then. One that is not killed ends by itself, which fails its test.
 */
import { onCrashPoint } from '../../dist/kernel/crash-points.js'
import { play } from './support/play.mjs'

const { killAt, ...job } = JSON.parse(process.argv[2] ?? '{}')
onCrashPoint((point) => {
  if (point === killAt) process.kill(process.pid, 'SIGKILL')
})
await play(job)
