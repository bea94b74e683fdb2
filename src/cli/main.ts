#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addDoctor } from './doctor.js'
import { addEffects } from './effects.js'
import { exitCodes, reportFailure } from './exit.js'
import { addMigrate } from './migrate.js'
import { addReconcile } from './reconcile.js'
import { addRights } from './rights.js'
import { addWork } from './work.js'

/** The command `hapax`. Each subcommand has a file of its own. */

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

const program = new Command('hapax')
  .description('Looks after the databases of Hapax.')
  .version(version, '-V, --version', 'print the version and exit')
  .helpOption('-h, --help', 'print this help and exit')
  .configureOutput({
    outputError: (text, write) =>
      write(
        `${text
          .trim()
          .replace(/^error:/, 'hapax:')
          .replace(/\.$/, '')}; see hapax --help\n`,
      ),
  })
  .addHelpText(
    'after',
    `\nExit codes: ${exitCodes.done} done, ${exitCodes.failed} failed, ${exitCodes.usage} wrong usage.`,
  )
  .exitOverride()

addMigrate(program)
addDoctor(program)
addRights(program)
addWork(program)
addReconcile(program)
addEffects(program)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = reportFailure(error)
}
