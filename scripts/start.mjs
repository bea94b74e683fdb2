/**
 * `npm start`: installs what is missing, builds what changed, and runs the sandbox. From the second time on it
 * asks no network and starts at once.
 */
import { join } from 'node:path'
import { runProgram } from './program.mjs'

await runProgram(join('supervisor', 'main.js'))
