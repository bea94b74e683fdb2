import { declareHttpConformance } from '../../support/http-declare.js'
import { fetchHarness } from '../../support/http-fetch-harness.js'

declareHttpConformance(fetchHarness)
