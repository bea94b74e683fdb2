/** `npm run simulate`: installs what is missing, and searches for schedules that break a promise. */
import { install, requireNode } from './install.mjs'
import { exitOnSignals } from './processes.mjs'

requireNode()
exitOnSignals()
await install(console.error)
// Loaded here and not before: a fresh clone has no esbuild yet.
await import('./simulation/main.mjs')
