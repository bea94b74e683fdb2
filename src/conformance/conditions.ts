import type { Claim } from '../engine/record.js'
import { claimed, completed, doubted, failed, halfDone, leaseMs } from './given.js'
import type { Stage } from './stage.js'

/** Every condition in which a request can find an unexpired key, and how the key gets there. */
export const conditions: Readonly<Record<string, (stage: Stage) => Promise<Claim>>> = {
  'in progress': ({ store }) => claimed(store),
  'in progress, its lease run out towards a resume': async (stage) => leaseRunOut(stage, 'resume'),
  'in progress, its lease run out towards doubt': async (stage) => leaseRunOut(stage, 'doubt'),
  completed: ({ store }) => completed(store),
  retryable: ({ store }) => failed(store),
  'half-done': ({ store }) => halfDone(store),
  unknown: ({ store }) => doubted(store),
}

async function leaseRunOut(stage: Stage, onLeaseOver: 'resume' | 'doubt'): Promise<Claim> {
  const claim = await claimed(stage.store, { onLeaseOver })
  await stage.at(leaseMs)
  return claim
}
