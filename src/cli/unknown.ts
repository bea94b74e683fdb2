import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { isRefused } from '../admin/refused.js'
import type { EffectWord } from '../effects/judging.js'
import type { Word } from '../engine/operating.js'
import { confirmed } from './confirm.js'
import { actorOf, atDesk, type Desk, type DeskFlags, deskCommand, writing } from './desk.js'
import { effectsText, effectText } from './effect-text.js'
import { recordsText, storyText, wholeOf } from './keys.js'
import { usage } from './usage.js'

const examples = `
Examples:
  hapax unknown list http://localhost:3000/admin                  what nobody knows
  hapax keys show http://localhost:3000/admin acme order-41       why
  hapax unknown settle http://localhost:3000/admin acme order-41 --not-landed \\
      --evidence "no charge in the dashboard" --why "customer asks"
  hapax unknown settle … --landed --result '{"id":"ch_1"}' --evidence "charge ch_1 in the dashboard" --why …
  hapax unknown settle … --completed answer.json --evidence … --why …
  hapax unknown settle ./dist/hapax.js --effect 41 --not-landed --evidence "no mail in the log" --why …   the doubt about an effect
  hapax unknown reconcile ./dist/hapax.js --why "the provider is back"   ask about all whose time has come
  hapax unknown reconcile http://localhost:3000/admin acme order-41 --why …   and one, whenever its time comes

There is no way to just run it again: what nobody knows may have happened. Not landed lets a retry run; landed lets it go on
behind the call, with what that returned; completed gives it its answer, { "status": 201, "headers": {}, "body": … }.
An effect that is settled goes on by itself; to settle one takes the code of the application: its module, or its admin URL.

Exit codes: 0 done, or shown; 1 there is none, it was refused, or it failed; 2 wrong usage.`

interface SettleFlags extends DeskFlags {
  readonly landed?: boolean
  readonly notLanded?: boolean
  readonly completed?: string
  readonly result?: string
  readonly effect?: string
  readonly evidence: string
}

interface ListFlags extends DeskFlags {
  readonly limit?: string
  readonly after?: string
}

/** `hapax unknown list | settle | reconcile` */
export function addUnknown(program: Command): void {
  const unknown = program
    .command('unknown')
    .description('outcomes that nobody knows: list them, settle them by evidence, have them looked at')
    .addHelpText('after', examples)
  deskCommand(unknown, 'list', 'list what nobody knows, the oldest first')
    .option('--limit <count>', 'how many to a page (default: 50)')
    .option('--after <place>', 'the page behind this one')
    .action((where: string, flags: ListFlags) => atDesk(where, flags, (desk) => list(desk, flags)))
  writing(deskCommand(unknown, 'settle', 'say what happened, and on what grounds'))
    .argument('[scope]', 'whose key it is')
    .argument('[key]', 'the key')
    .option('--effect <id>', 'the doubt about this effect, instead of that about a key')
    .requiredOption('--evidence <text>', 'on what grounds: what you have seen, and where')
    .option('--landed', 'the call took effect')
    .option('--not-landed', 'it did not')
    .option('--completed <file>', 'all of it took effect, and this is its answer: a JSON file, or - to read it here')
    .option('--result <json>', 'with --landed: what the call returned')
    .action((where: string, scope: string | undefined, key: string | undefined, flags: SettleFlags) => {
      const about = aboutOf(scope, key, flags)
      actorOf(flags)
      return atDesk(where, flags, (desk) =>
        about.kind === 'key'
          ? settle(desk, { scope: about.scope, key: about.key }, wordOf(flags), flags)
          : settleEffect(desk, about.id, effectWordOf(flags), flags),
      )
    })
  writing(deskCommand(unknown, 'reconcile', 'ask providers now, about one or about all whose time has come'))
    .argument('[scope]', 'whose key it is')
    .argument('[key]', 'the key')
    .action((where: string, scope: string | undefined, key: string | undefined, flags: DeskFlags) => {
      if (scope !== undefined && key === undefined) throw usage('Give a scope and a key, or neither.')
      const name = scope === undefined || key === undefined ? undefined : { scope, key }
      return atDesk(where, flags, (desk) => reconcile(desk, name, flags))
    })
}

type About =
  | { readonly kind: 'key'; readonly scope: string; readonly key: string }
  | { readonly kind: 'effect'; readonly id: number }

function aboutOf(scope: string | undefined, key: string | undefined, { effect }: SettleFlags): About {
  if (effect !== undefined) {
    if (scope !== undefined) throw usage('Give a scope and a key, or --effect, not both.')
    return { kind: 'effect', id: wholeOf('--effect', effect) }
  }
  if (scope === undefined || key === undefined) throw usage('Say which: give a scope and a key, or --effect.')
  return { kind: 'key', scope, key }
}

async function list({ admin }: Desk, flags: ListFlags): Promise<void> {
  const { limit, after, json } = flags
  const page = await admin.find({
    state: 'unknown',
    order: 'oldest',
    ...(limit !== undefined && { limit: wholeOf('--limit', limit) }),
    ...(after !== undefined && { after }),
  })
  const effects = await effectsInDoubt(admin)
  if (json) return console.log(JSON.stringify({ ...page, ...(effects && { effects }) }))
  const records = page.items.length === 0 && page.next === undefined ? [] : [recordsText(page.items, page.next)]
  const outbox = effects === undefined || effects.items.length === 0 ? [] : [effectsText(effects.items, effects.next)]
  const shown = [...records, ...outbox]
  console.log(shown.length === 0 ? 'Nothing is unknown.' : shown.join('\n\n'))
}

/** Not every store keeps effects, and not everybody may look at all of them. */
async function effectsInDoubt(admin: Desk['admin']) {
  try {
    return await admin.effects({ state: 'unknown' })
  } catch (error) {
    if (isRefused(error)) return undefined
    throw error
  }
}

async function settle(
  { admin }: Desk,
  name: { scope: string; key: string },
  word: Word,
  flags: SettleFlags,
): Promise<void> {
  const by = actorOf(flags)
  if (!flags.json) console.log(`${storyText(await admin.story(name))}\n`)
  if (!(await confirmed(flags, `Settle it as ${word.says}?`))) return
  const done = await admin.settle(name, word, by)
  if (flags.json) return console.log(JSON.stringify(done))
  console.log(
    `Settled as ${word.says}: it is ${done.record.state} now. Entry ${done.audit[0]?.sequence} of the audit log.`,
  )
}

async function settleEffect(desk: Desk, id: number, word: EffectWord, flags: SettleFlags): Promise<void> {
  if (desk.kind === 'here' && desk.open.kind === 'database')
    throw usage('To settle an effect takes the code of the application: give its module, or an admin URL.')
  const { admin } = desk
  if (!flags.json) console.log(`${effectText(await admin.effectStory(id))}\n`)
  if (!(await confirmed(flags, `Settle it as ${word.says}?`))) return
  const done = await admin.settleEffect(id, word, actorOf(flags))
  if (flags.json) return console.log(JSON.stringify(done))
  console.log(
    `Settled as ${word.says}: it is ${done.effect.state} now. Entry ${done.audit[0]?.sequence} of the audit log.`,
  )
}

async function reconcile(
  desk: Desk,
  name: { scope: string; key: string } | undefined,
  flags: DeskFlags,
): Promise<void> {
  if (desk.kind === 'here' && desk.open.kind === 'database')
    throw usage('To ask providers takes the code of the application: give its module, or an admin URL.')
  const by = actorOf(flags)
  if (!(await confirmed(flags, name === undefined ? 'Look at all whose time has come?' : 'Look at it now?'))) return
  const { came } = await desk.admin.reconcile(by, name)
  const counts = Object.entries(came).map(([what, count]) => `${count} ${what.replaceAll('_', ' ')}`)
  console.log(flags.json ? JSON.stringify({ came }) : counts.length === 0 ? 'nothing to look at' : counts.join(', '))
}

function wordOf({ landed, notLanded, completed, result, evidence }: SettleFlags): Word {
  const said = [landed, notLanded, completed].filter((one) => one !== undefined)
  if (said.length !== 1) throw usage('Say what happened: --landed, --not-landed, or --completed <file>.')
  if (evidence.trim() === '') throw usage('--evidence is empty; say what you have seen, and where.')
  if (result !== undefined && !landed) throw usage('--result goes with --landed.')
  if (notLanded) return { says: 'not_landed', evidence }
  if (landed) return { says: 'landed', evidence, ...(result !== undefined && { result: jsonIn('--result', result) }) }
  return { says: 'completed', evidence, answer: answerIn(completed ?? '') }
}

function effectWordOf(flags: SettleFlags): EffectWord {
  const word = wordOf(flags)
  if (word.says === 'completed') throw usage('An effect has no answer: say --landed or --not-landed.')
  return word
}

function answerIn(file: string): Extract<Word, { says: 'completed' }>['answer'] {
  const text = readFileSync(file === '-' ? 0 : file, 'utf8')
  const {
    status,
    headers = {},
    body,
  } = jsonIn('--completed', text) as { status?: unknown; headers?: object; body?: unknown }
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599)
    throw usage('--completed needs { "status": …, "headers": …, "body": … }, with a status from 200 to 599.')
  const lines = Object.entries(headers).map(([name, value]) => [name, String(value)] as const)
  const hasType = lines.some(([name]) => name.toLowerCase() === 'content-type')
  const typed = hasType || body === undefined ? lines : [['content-type', 'application/json'] as const, ...lines]
  const isText = typeof body === 'string' && hasType
  const bytes = body === undefined ? new Uint8Array() : new TextEncoder().encode(isText ? body : JSON.stringify(body))
  return { status, headers: typed, body: bytes }
}

function jsonIn(flag: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usage(`${flag} is no JSON.`)
  }
}
