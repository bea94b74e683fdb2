import { declareConformance } from './declare.js'
import { simulatedGroupsHarness, simulatedHarness } from './simulated-harness.js'

declareConformance(simulatedHarness)
declareConformance(simulatedGroupsHarness)
