import { declareKills } from './support/declare.js'
import { sqliteGround } from './support/grounds.js'

declareKills('SQLite', sqliteGround)
