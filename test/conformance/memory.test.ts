import { declareConformance } from './declare.js'
import { memoryHarness } from './memory-harness.js'

declareConformance(memoryHarness)
