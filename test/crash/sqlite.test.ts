import { crashPoints } from '../../dist/kernel/crash-points.js'
import { declareKills } from './support/declare.js'
import { sqliteGround } from './support/grounds.js'

/** It writes one after another, and has no group commit. */
const points = crashPoints.filter((point) => !point.startsWith('batch.'))

declareKills('SQLite', sqliteGround, points)
