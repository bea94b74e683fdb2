import { declareHttpConformance } from '../../support/http-declare.js'
import { expressHarness } from '../../support/http-express-harness.js'

declareHttpConformance(expressHarness)
