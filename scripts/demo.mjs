/** `npm run demo`: as `npm start`, but runs a narrated tour on a sandbox of its own, and ends. */
import { join } from 'node:path'
import { runProgram } from './program.mjs'

await runProgram(join('demo', 'main.js'))
