#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addAudit } from './audit.js'
import { addCompletion } from './completion.js'
import { addDead } from './dead.js'
import { addDoctor } from './doctor.js'
import { exitCodes, reportFailure } from './exit.js'
import { fitted } from './fitted.js'
import { addKeys } from './keys.js'
import { addMigrate } from './migrate.js'
import { addPurge } from './purge.js'
import { addReap } from './reap.js'
import { addReconcile } from './reconcile.js'
import { addRights } from './rights.js'
import { addRoutesAudit } from './routes.js'
import { addStats } from './stats.js'
import { addUnknown } from './unknown.js'
import { addWork } from './work.js'

/** The command `hapax`. Each subcommand has a file of its own. */

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

const program = new Command('hapax')
  .description('Looks after idempotency keys, and the databases that they are in.')
  .version(version, '-V, --version', 'print the version and exit')
  .helpOption('-h, --help', 'print this help and exit')
  // A narrow terminal breaks words in two where nobody else breaks the line.
  .configureHelp({ minWidthToWrap: 20 })
  .configureOutput({
    writeOut: (text) => process.stdout.write(fitted(text, process.stdout.columns)),
    writeErr: (text) => process.stderr.write(fitted(text, process.stderr.columns)),
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
addReap(program)
addKeys(program)
addUnknown(program)
addDead(program)
addPurge(program)
addStats(program)
addRoutesAudit(program)
addAudit(program)
addCompletion(program)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = reportFailure(error)
}
