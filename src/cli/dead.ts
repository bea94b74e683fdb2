import { type Command, InvalidArgumentError } from 'commander'
import type { Changed } from '../admin/effect-desk.js'
import type { Paged } from '../admin/paging.js'
import { effectBounds } from '../kernel/limits.js'
import { confirmedChange } from './confirm.js'
import { changedText, deadText } from './dead-letter-text.js'
import { actorOf, atDesk, type Desk, type DeskFlags, deskCommand, writing } from './desk.js'
import { exitCodes, notConfirmedHelp } from './exit.js'
import { filledPage, pagedBy } from './pages.js'
import { usage } from './usage.js'

const examples = `
Examples:
  hapax dead list http://localhost:3000/admin                       what nobody tries any more, and what a redrive would do
  hapax dead redrive ./dist/hapax.js --kind receipt.send --why "the mailer is back"
  hapax dead redrive ./dist/hapax.js 41 --may-run-twice --why … --yes   though its provider has forgotten the key
  hapax dead discard .data/hapax.db 41 42 --why "refunded by hand"

A redrive sends the same downstream key, so that a provider which still knows it does nothing twice. It takes the code of
the application: its module, or its admin URL. To look and to discard, a database will do. Up to ${effectBounds.deadLetters} at a time.

Exit codes: 0 done, or listed; 1 something that was asked for is not dead or cannot be redriven, or it failed; 2 wrong usage;
${notConfirmedHelp}.`

interface DeadFlags extends DeskFlags {
  readonly kind?: string
  readonly tenant?: string
  readonly limit?: string
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
    .option('--tenant <name>', 'only those of this tenant')
    .option('--limit <count>', 'how many of them (default: 50)')
    .option('--after <place>', 'from where the last list has ended')
    .action((where: string, flags: DeadFlags) => {
      const paged = pagedBy(flags)
      return atDesk(where, flags, (desk) => list(desk, paged, flags))
    })
  writing(deskCommand(dead, 'redrive', 'have them carried out again, with the same downstream key'))
    .argument('[ids...]', 'the effects, by id', idsIn, [])
    .option('--kind <name>', 'dead effects of this kind')
    .option('--tenant <name>', 'only those of this tenant')
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

async function list({ admin }: Desk, paged: Paged, { kind, tenant, json }: DeadFlags): Promise<void> {
  const page = await filledPage(admin.deadLetters, {
    ...(kind !== undefined && { kind }),
    ...(tenant !== undefined && { tenant }),
    ...paged,
  })
  console.log(json ? JSON.stringify(page) : deadText(page.items, page.next))
}

async function redrive(desk: Desk, ids: readonly number[], flags: DeadFlags): Promise<void> {
  if (desk.kind === 'here' && desk.open.kind === 'database')
    throw usage('To redrive takes the code of the application: give its module, or an admin URL.')
  const { kind, tenant, mayRunTwice } = flags
  const query = {
    ...(kind !== undefined && { kind }),
    ...(tenant !== undefined && { tenant }),
    ...(ids.length > 0 && { ids }),
    ...(mayRunTwice && { acknowledge: 'may_run_twice' as const }),
  }
  const came = await confirmedChange(flags, {
    shown: () => desk.admin.previewRedrive(query),
    shownText: (shown) => changedText(shown, 'redriven', 'shown'),
    question: 'Redrive them?',
    act: async () => changing(await desk.admin.redrive(query, actorOf(flags))),
    doneText: (done) => changedText(done, 'redriven', 'done'),
  })
  if (came.not_dead.length > 0 || came.effects.some(({ redrive }) => redrive.kind === 'refused'))
    process.exitCode ??= exitCodes.failed
}

async function discard(desk: Desk, ids: readonly number[], flags: DeadFlags): Promise<void> {
  const came = await confirmedChange(flags, {
    shown: () => desk.admin.previewRedrive({ ids }),
    shownText: (shown) => changedText(shown, 'discarded', 'shown'),
    question: 'Discard them? Nobody will carry them out.',
    act: async () => changing(await desk.admin.discard(ids, actorOf(flags))),
    doneText: (done) => changedText(done, 'discarded', 'done'),
  })
  if (came.not_dead.length > 0) process.exitCode ??= exitCodes.failed
}

/** All of them may have been refused. */
function changing(done: Changed) {
  return { changed: done.effects.some(({ changed }) => changed), ...done }
}

function idsIn(text: string, before: readonly number[]): readonly number[] {
  const id = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(id) || id < 1)
    throw new InvalidArgumentError(`"${text}" is no id of an effect, which is a whole number.`)
  return before.includes(id) ? before : [...before, id]
}
