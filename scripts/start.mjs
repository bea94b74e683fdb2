/**
 * `npm start`: installs what is missing, builds what changed, and runs the sandbox. From the second time on it
 * asks no network and starts at once.
 */
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { build, sandbox } from './build.mjs'
import { install, requireNode } from './install.mjs'
import { exitOnSignals } from './processes.mjs'

/** Stdout belongs to the sandbox and its line `ready http://…`. @param {string} line */
const say = (line) => console.error(`hapax: ${line}`)

requireNode()
const giveSignalsBack = exitOnSignals()
try {
  await install(say)
  await build(say)
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exit(1)
}

giveSignalsBack()

// In this very process, so that signals and the exit code are the sandbox's own.
process.argv[1] = sandbox
await import(pathToFileURL(sandbox).href)
