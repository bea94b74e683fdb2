/** `npm run bench`: installs what is missing, builds what is measured, and runs what bench/ has. */
import process from 'node:process'
import { install, requireNode } from './install.mjs'
import { script } from './parts.mjs'
import { exitOnSignals, run } from './processes.mjs'

requireNode()
exitOnSignals()
await install(console.error)
if (!(await run(script('build'), { stdout: process.stderr }))) process.exit(1)
// Loaded here and not before: a fresh clone has no tsx yet.
const { tsImport } = await import('tsx/esm/api')
await tsImport('../bench/main.ts', import.meta.url)
