import { pgLibrary } from './postgres-libraries.js'
import { declareWay, direct } from './postgres-ways.js'

declareWay(direct(), { name: 'postgres, by pg, group commit off', library: pgLibrary, batching: 'off' })
