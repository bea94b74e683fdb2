/** `npm run check`: format, lint, types, boundaries and unit tests, in under a minute. Needs no server. */
import process from 'node:process'
import { buildScripts } from './build.mjs'
import { part, printTimes, runScript } from './parts.mjs'

const names = ['lint', ...buildScripts, 'types', 'boundaries', 'test:unit']

const parts = []
for (const name of names) parts.push(await part(name, () => runScript(name)))

printTimes(parts)
process.exitCode = parts.every(({ passed }) => passed) ? 0 : 1
