import type { Case } from './cases/case.js'
import { curt } from './cases/curt.js'
import { effects } from './cases/effects.js'
import { failures } from './cases/failures.js'
import { interrupted } from './cases/interrupted.js'
import { names } from './cases/names.js'
import { requests } from './cases/requests.js'
import { unkept } from './cases/unkept.js'

/** All small scenarios, of each of which every schedule is run. */
export const cases: readonly Case[] = [
  ...requests,
  ...interrupted,
  ...effects,
  ...failures,
  ...names,
  ...unkept,
  ...curt,
]
