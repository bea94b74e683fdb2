/** Runs a program of the sandbox: installs what is missing and builds what changed first. */
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { build } from './build.mjs'
import { install, requireNode } from './install.mjs'
import { exitOnSignals } from './processes.mjs'
import { root } from './root.mjs'

/** Stdout belongs to the program. @param {string} line */
const say = (line) => console.error(`hapax: ${line}`)

/** @param {string} name of a file in the built sandbox */
export async function runProgram(name) {
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

  // In this very process, so that signals and the exit code are the program's own.
  const program = join(root, 'examples', 'sandbox', 'dist', name)
  process.argv[1] = program
  await import(pathToFileURL(program).href)
}
