/** Prints docs/reference/cli.md: what the command line says of itself. `node scripts/cli-reference.mjs > docs/reference/cli.md` */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))

const commands = [
  'migrate',
  'doctor',
  'rights',
  'work',
  'reap',
  'keys',
  'keys find',
  'keys show',
  'keys tail',
  'unknown',
  'unknown list',
  'unknown settle',
  'unknown reconcile',
  'dead',
  'dead list',
  'dead redrive',
  'dead discard',
  'purge',
  'stats',
  'routes',
  'audit',
  'audit list',
  'audit verify',
  'audit export',
  'reconcile',
  'completion',
]

/** @param {readonly string[]} args */
function helpOf(args) {
  const env = { ...process.env, COLUMNS: '100', NO_COLOR: '1' }
  const { stdout } = spawnSync(process.execPath, [main, ...args, '--help'], { encoding: 'utf8', env })
  return stdout.trimEnd()
}

export function cliReference() {
  const sections = commands.map((name) => `## hapax ${name}\n\n\`\`\`\n${helpOf(name.split(' '))}\n\`\`\``)
  return `${intro}\n\n${sections.join('\n\n')}\n`
}

const intro = `# The command line

\`npx hapax <command>\`. Tables are for people; \`--json\` is for programs. Colours come only on a terminal, and not with
\`NO_COLOR\`. A command that changes something shows what it would do and asks; \`--yes\` does not ask, and where nobody can be
asked nothing is changed without it: what it would do is shown, as JSON too (\`"changed": false\`), and the exit code is 4. A token for an admin URL stands in \`HAPAX_ADMIN_TOKEN\`.

Exit codes: 0 done; 1 it failed, was refused, or found what it looks for (a gap, a difference, a log that somebody has meddled
with); 2 wrong usage; 3 nothing was compared (\`reconcile\`); 4 nothing was changed, since nobody could be asked and \`--yes\` was not
given; 5 nothing was found so far, and there is more to look at (\`keys find\`).

This page is what the program says of itself: \`node scripts/cli-reference.mjs > docs/reference/cli.md\`, and a test compares.`

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(cliReference())
