import { declareConformance } from './declare.js'
import { simulatedHarness } from './simulated-harness.js'

declareConformance(simulatedHarness)
