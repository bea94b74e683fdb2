/** `npm run check`: format, lint, types, boundaries and unit tests, in under a minute and without any server. */
import process from 'node:process'
import { buildScripts } from './build.mjs'
import { install, requireNode } from './install.mjs'
import { printTimes, runScript } from './parts.mjs'
import { exitOnSignals } from './processes.mjs'

requireNode()
exitOnSignals()
await install(console.log)

const parts = []
for (const name of ['lint', ...buildScripts, 'types', 'boundaries', 'test:unit']) parts.push(await runScript(name))

printTimes(parts)
process.exitCode = parts.some(({ outcome }) => outcome === 'failed') ? 1 : 0
