import { declareHttpConformance } from '../../support/http-declare.js'
import { fastifyHarness } from '../../support/http-fastify-harness.js'

declareHttpConformance(fastifyHarness)
