import { declareHttpConformance } from '../../support/http-declare.js'
import { nodeHarness } from '../../support/http-node-harness.js'

declareHttpConformance(nodeHarness)
