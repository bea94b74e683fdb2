import { onPostgres } from '../support/on-postgres.js'
import { declareKills } from './support/declare.js'
import { postgresGround } from './support/grounds.js'

onPostgres('PostgreSQL', (url) => declareKills('PostgreSQL with group commit', () => postgresGround(url, 'on')))
