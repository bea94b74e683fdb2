import { answerBugs } from './planted-bugs/answers.mjs'
import { boundBugs } from './planted-bugs/bounds.mjs'
import { callBugs } from './planted-bugs/calls.mjs'
import { claimBugs } from './planted-bugs/claims.mjs'
import { curtBugs } from './planted-bugs/curt.mjs'
import { doubtBugs } from './planted-bugs/doubts.mjs'
import { effectBugs } from './planted-bugs/effects.mjs'
import { failureBugs } from './planted-bugs/failures.mjs'
import { judgedBugs } from './planted-bugs/judged.mjs'
import { nameBugs } from './planted-bugs/names.mjs'
import { requestBugs } from './planted-bugs/requests.mjs'
import { statementBugs } from './planted-bugs/statements.mjs'
import { unkeptBugs } from './planted-bugs/unkept.mjs'

/**
 * What a careless author might do to the source, one edit each, and what must notice. A patch that no longer applies fails the
 * run, as one that nobody catches does.
 *
 * @type {readonly import('../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const bugs = [
  ...claimBugs,
  ...requestBugs,
  ...answerBugs,
  ...callBugs,
  ...doubtBugs,
  ...boundBugs,
  ...effectBugs,
  ...statementBugs,
  ...judgedBugs,
  ...failureBugs,
  ...nameBugs,
  ...unkeptBugs,
  ...curtBugs,
]
