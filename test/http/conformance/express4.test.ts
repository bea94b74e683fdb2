import { declareHttpConformance } from '../../support/http-declare.js'
import { express4Harness } from '../../support/http-express-harness.js'

declareHttpConformance(express4Harness)
