import { postgresJs } from './postgres-libraries.js'
import { declareWay, direct } from './postgres-ways.js'

declareWay(direct(), { name: 'postgres, by postgres.js', library: postgresJs })
