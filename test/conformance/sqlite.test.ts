import { declareConformance } from './declare.js'
import { sqliteHarness } from './sqlite-harness.js'

declareConformance(sqliteHarness)
