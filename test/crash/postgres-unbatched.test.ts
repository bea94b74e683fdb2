import { type CrashPoint, crashPoints } from '../../dist/kernel/crash-points.js'
import { onPostgres } from '../support/on-postgres.js'
import { declareKills } from './support/declare.js'
import { postgresGround } from './support/grounds.js'

/**
 * Group commit is about the statements of one record: what reserves, finds, renews and completes it. So without it, processes are
 * killed at every point of a request; those of effects, doubts and webhooks send the same statements with and without it.
 */
const ofRequests: readonly CrashPoint[] = crashPoints.filter((point) => /^(phase|call|commit)\./.test(point))

onPostgres('PostgreSQL, group commit off', (url) =>
  declareKills('PostgreSQL without group commit', () => postgresGround(url, 'off'), ofRequests),
)
