import { type Command, InvalidArgumentError } from 'commander'
import { type DeadLetters, deadLetters } from '../effects/dead-letters.js'
import { effectBounds } from '../kernel/limits.js'
import { deadJson, deadText, discardedText, notDeadText, redriveJson, redriveText } from './dead-letter-text.js'
import { engineArgument, type OpenEngine, withEngine } from './engine.js'
import { exitCodes, thenExit } from './exit.js'
import { usage } from './usage.js'

const examples = `
Examples:
  hapax effects dead ./dist/hapax.js                           what nobody tries any more, and what a redrive would do
  hapax effects redrive ./dist/hapax.js --kind receipt.send    show it for these; nothing is changed
  hapax effects redrive ./dist/hapax.js --kind receipt.send --yes
  hapax effects redrive ./dist/hapax.js 41 --may-run-twice --yes   though its provider has forgotten the key
  hapax effects discard ./dist/hapax.js 41 42 --why "refunded by hand" --yes

A redrive sends the same downstream key, so that a provider which still knows it does nothing twice. It takes the code of
the application; to look and to discard, a database will do. Up to ${effectBounds.deadLetters} at a time.

Exit codes: 0 done, or shown; 1 something that was asked for is not dead or cannot be redriven, or it failed; 2 wrong usage.`

interface EffectFlags {
  readonly schema?: string
  readonly kind?: string
  readonly after?: string
  readonly preview?: boolean
  readonly yes?: boolean
  readonly mayRunTwice?: boolean
  readonly why?: string
  readonly json?: boolean
}

const schemaOption = ['--schema <name>', 'the schema in PostgreSQL, with a database (default: hapax)'] as const
const jsonOption = ['--json', 'print one JSON object instead of text'] as const
const yesOption = ['--yes', 'do it; without this it is only shown'] as const

/** `hapax effects dead | redrive | discard <module-or-database>` */
export function addEffects(program: Command): void {
  const effects = program
    .command('effects')
    .description('look at dead effects, have them carried out again, or end them')
    .addHelpText('after', examples)
  effects
    .command('dead')
    .description('list effects that nobody tries any more, and what a redrive would do with each')
    .argument('<engine>', engineArgument)
    .option(...schemaOption)
    .option('--kind <name>', 'only effects of this kind')
    .option('--after <id>', 'the page behind this one')
    .option(...jsonOption)
    .action((given: string, flags: EffectFlags) => using(given, flags, (open) => dead(lettersOf(open), flags)))
  effects
    .command('redrive')
    .description('have dead effects carried out again, with the same downstream key')
    .argument('<engine>', engineArgument)
    .argument('[ids...]', 'the effects, by id', idsIn, [])
    .option(...schemaOption)
    .option('--kind <name>', 'dead effects of this kind')
    .option('--preview', 'show what would be done, which is what happens without --yes as well')
    .option(...yesOption)
    .option('--may-run-twice', 'with ids: also those whose provider may have done it, and has forgotten the key')
    .option(...jsonOption)
    .action((given: string, ids: readonly number[], flags: EffectFlags) => {
      refuseRedrive(ids, flags)
      return using(given, flags, (open) => redrive(open, ids, flags))
    })
  effects
    .command('discard')
    .description('end dead effects for good: nobody carries them out')
    .argument('<engine>', engineArgument)
    .argument('<ids...>', 'the effects, by id', idsIn, [])
    .option(...schemaOption)
    .requiredOption('--why <text>', 'the reason, which is told with the event')
    .option(...yesOption)
    .option(...jsonOption)
    .action((given: string, ids: readonly number[], flags: EffectFlags) => {
      if (flags.why?.trim() === '') throw usage('--why is empty; say in a few words why nobody carries them out.')
      return using(given, flags, (open) => discard(lettersOf(open), ids, flags))
    })
}

function using(given: string, { schema }: EffectFlags, use: (open: OpenEngine) => Promise<void>): Promise<never> {
  return thenExit(() => withEngine(given, schema, use))
}

function lettersOf({ hapax, label }: OpenEngine): DeadLetters {
  const { outbox: store, calls, effects = { kinds: new Map() }, clock, events } = hapax
  if (store === undefined) throw usage(`The store of ${label} keeps no effects.`)
  return deadLetters({ store, ...(calls !== undefined && { calls }), effects, clock, events })
}

async function dead(letters: DeadLetters, { kind, after, json }: EffectFlags): Promise<void> {
  const page = await letters.list({ ...(kind !== undefined && { kind }), ...(after !== undefined && { after }) })
  console.log(json ? deadJson(page) : deadText(page))
}

async function redrive(open: OpenEngine, ids: readonly number[], flags: EffectFlags): Promise<void> {
  if (open.kind === 'database') throw usage('To redrive takes the code of the application: give its module.')
  const { kind, yes, mayRunTwice, json } = flags
  const done = await lettersOf(open).redrive({
    mode: yes ? 'apply' : 'preview',
    ...(kind !== undefined && { kind }),
    ...(ids.length > 0 && { ids }),
    ...(mayRunTwice && { acknowledge: 'may_run_twice' }),
  })
  const missing = ids.filter((id) => !done.some(({ effect }) => effect.id === id))
  const mode = yes ? 'done' : 'shown'
  console.log(json ? redriveJson(done, missing, mode) : redriveText(done, missing, mode))
  if (missing.length > 0 || done.some(({ plan }) => plan.kind === 'refused')) process.exitCode = exitCodes.failed
}

async function discard(letters: DeadLetters, ids: readonly number[], flags: EffectFlags): Promise<void> {
  const { why = '', yes, json } = flags
  const shown = await letters.redrive({ mode: 'preview', ids })
  const ended = yes ? await letters.discard(ids, why) : shown.map(({ effect }) => effect)
  const missing = ids.filter((id) => !ended.some((effect) => effect.id === id))
  const mode = yes ? 'done' : 'shown'
  if (json) console.log(JSON.stringify({ [yes ? 'discarded' : 'dead']: ended.map(({ id }) => id), notDead: missing }))
  else console.log([discardedText(ended, mode), ...notDeadText(missing)].join('\n'))
  if (missing.length > 0) process.exitCode = exitCodes.failed
}

function refuseRedrive(ids: readonly number[], { kind, preview, yes, mayRunTwice }: EffectFlags): void {
  if (ids.length === 0 && kind === undefined) throw usage('Say which: give ids, or --kind.')
  if (preview && yes) throw usage('--preview changes nothing; leave it out, or --yes.')
  if (mayRunTwice && ids.length === 0) throw usage('--may-run-twice goes with ids: name the effects it is meant for.')
}

function idsIn(text: string, before: readonly number[]): readonly number[] {
  const id = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(id) || id < 1)
    throw new InvalidArgumentError(`"${text}" is no id of an effect, which is a whole number.`)
  return before.includes(id) ? before : [...before, id]
}
