import { postgresJs } from './postgres-libraries.js'
import { declareWay, pooled } from './postgres-ways.js'

declareWay(pooled(), { name: 'postgres, by postgres.js through pgbouncer', library: postgresJs })
