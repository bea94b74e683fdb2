import { type Command, InvalidArgumentError } from 'commander'
import { effectBounds } from '../kernel/limits.js'
import { confirmed } from './confirm.js'
import { changedText, deadText } from './dead-letter-text.js'
import { actorOf, atDesk, type Desk, type DeskFlags, deskCommand, writing } from './desk.js'
import { exitCodes } from './exit.js'
import { usage } from './usage.js'

const examples = `
Examples:
  hapax dead list http://localhost:3000/admin                       what nobody tries any more, and what a redrive would do
  hapax dead redrive ./dist/hapax.js --kind receipt.send --why "the mailer is back"
  hapax dead redrive ./dist/hapax.js 41 --may-run-twice --why … --yes   though its provider has forgotten the key
  hapax dead discard .data/hapax.db 41 42 --why "refunded by hand"

A redrive sends the same downstream key, so that a provider which still knows it does nothing twice. It takes the code of
the application: its module, or its admin URL. To look and to discard, a database will do. Up to ${effectBounds.deadLetters} at a time.

Exit codes: 0 done, or shown; 1 something that was asked for is not dead or cannot be redriven, or it failed; 2 wrong usage.`

interface DeadFlags extends DeskFlags {
  readonly kind?: string
  readonly after?: string
  readonly mayRunTwice?: boolean
}

/** `hapax dead list | redrive | discard` */
export function addDead(program: Command): void {
  const dead = program
    .command('dead')
    .description('effects that nobody tries any more: list them, have them carried out again, or end them')
    .addHelpText('after', examples)
  deskCommand(dead, 'list', 'list them, and what a redrive would do with each')
    .option('--kind <name>', 'only effects of this kind')
    .option('--after <id>', 'the page behind this one')
    .action((where: string, flags: DeadFlags) => atDesk(where, flags, (desk) => list(desk, flags)))
  writing(deskCommand(dead, 'redrive', 'have them carried out again, with the same downstream key'))
    .argument('[ids...]', 'the effects, by id', idsIn, [])
    .option('--kind <name>', 'dead effects of this kind')
    .option('--may-run-twice', 'with ids: also those whose provider may have done it, and has forgotten the key')
    .action((where: string, ids: readonly number[], flags: DeadFlags) => {
      if (ids.length === 0 && flags.kind === undefined) throw usage('Say which: give ids, or --kind.')
      if (flags.mayRunTwice && ids.length === 0)
        throw usage('--may-run-twice goes with ids: name the effects it is meant for.')
      actorOf(flags)
      return atDesk(where, flags, (desk) => redrive(desk, ids, flags))
    })
  writing(deskCommand(dead, 'discard', 'end them for good: nobody carries them out'))
    .argument('<ids...>', 'the effects, by id', idsIn, [])
    .action((where: string, ids: readonly number[], flags: DeadFlags) => {
      actorOf(flags)
      return atDesk(where, flags, (desk) => discard(desk, ids, flags))
    })
}

async function list({ admin }: Desk, { kind, after, json }: DeadFlags): Promise<void> {
  const page = await admin.deadLetters({ ...(kind !== undefined && { kind }), ...(after !== undefined && { after }) })
  console.log(json ? JSON.stringify(page) : deadText(page.items, page.next))
}

async function redrive(desk: Desk, ids: readonly number[], flags: DeadFlags): Promise<void> {
  if (desk.kind === 'here' && desk.open.kind === 'database')
    throw usage('To redrive takes the code of the application: give its module, or an admin URL.')
  const { kind, mayRunTwice, json } = flags
  const query = {
    ...(kind !== undefined && { kind }),
    ...(ids.length > 0 && { ids }),
    ...(mayRunTwice && { acknowledge: 'may_run_twice' as const }),
  }
  const shown = await desk.admin.previewRedrive(query)
  if (!json) console.log(changedText(shown, 'redriven', 'shown'))
  const isDone = await confirmed(flags, 'Redrive them?')
  const done = isDone ? await desk.admin.redrive(query, actorOf(flags)) : shown
  if (json) console.log(JSON.stringify({ changed: isDone, ...done }))
  else if (isDone) console.log(changedText(done, 'redriven', 'done'))
  if (done.not_dead.length > 0 || done.effects.some(({ redrive }) => redrive.kind === 'refused'))
    process.exitCode = exitCodes.failed
}

async function discard(desk: Desk, ids: readonly number[], flags: DeadFlags): Promise<void> {
  const shown = await desk.admin.previewRedrive({ ids })
  if (!flags.json) console.log(changedText(shown, 'discarded', 'shown'))
  const isDone = await confirmed(flags, 'Discard them? Nobody will carry them out.')
  const done = isDone ? await desk.admin.discard(ids, actorOf(flags)) : shown
  if (flags.json) console.log(JSON.stringify({ changed: isDone, ...done }))
  else if (isDone) console.log(changedText(done, 'discarded', 'done'))
  if (done.not_dead.length > 0) process.exitCode = exitCodes.failed
}

function idsIn(text: string, before: readonly number[]): readonly number[] {
  const id = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(id) || id < 1)
    throw new InvalidArgumentError(`"${text}" is no id of an effect, which is a whole number.`)
  return before.includes(id) ? before : [...before, id]
}
