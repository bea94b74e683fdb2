import { pgLibrary } from './postgres-libraries.js'
import { declareWay, pooled } from './postgres-ways.js'

declareWay(pooled(), { name: 'postgres, by pg through pgbouncer', library: pgLibrary })
