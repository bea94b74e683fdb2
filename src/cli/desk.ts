import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { type Admin, admin } from '../admin/admin.js'
import { type OpenEngine, withEngine } from './engine.js'
import { thenExit } from './exit.js'
import { type Remote, remoteAdmin } from './remote.js'
import { usage } from './usage.js'

/** Where an operator sits: at an engine of this process, or at the admin API of another. */
export type Desk =
  | ({ readonly kind: 'here'; readonly open: OpenEngine } & { readonly admin: Admin })
  | { readonly kind: 'there'; readonly url: string; readonly admin: Remote }

/** How a command's help speaks of its argument. */
const deskArgument = 'an admin URL (http://…/admin), a database, or a module that exports the engine'

export interface DeskFlags {
  readonly schema?: string
  readonly json?: boolean
  readonly as?: string
  readonly why?: string
  readonly yes?: boolean
}

/** The options that all commands of an operator have. */
export function deskCommand(group: Command, name: string, description: string): Command {
  return group
    .command(name)
    .description(description)
    .argument('<where>', deskArgument)
    .option('--schema <name>', 'the schema in PostgreSQL, with a database (default: hapax)')
    .option('--json', 'print JSON instead of text')
}

/** And those of commands that change something. */
export function writing(command: Command): Command {
  return command
    .requiredOption('--why <text>', 'the reason, for the audit log')
    .option(
      '--as <name>',
      'who you are, for the audit log; an admin URL knows that by itself (default: your user name)',
    )
    .option('--yes', 'do it without asking')
}

export function atDesk(where: string, flags: DeskFlags, use: (desk: Desk) => Promise<void>): Promise<never> {
  return thenExit(() => withDesk(where, flags, use))
}

async function withDesk(where: string, { schema }: DeskFlags, use: (desk: Desk) => Promise<void>): Promise<void> {
  if (/^https?:\/\//i.test(where)) {
    if (schema !== undefined) throw usage('An admin URL knows its schema; leave --schema out.')
    return use({ kind: 'there', url: where, admin: remoteAdmin(where, process.env.HAPAX_ADMIN_TOKEN) })
  }
  return withEngine(where, schema, async (open) => {
    const desk = admin({ hapax: open.hapax, serves: 'nothing' })
    try {
      await use({ kind: 'here', open, admin: desk })
    } finally {
      desk.close()
    }
  })
}

export function actorOf({ as, why = '' }: DeskFlags): { readonly who: string; readonly why: string } {
  if (why.trim() === '') throw usage('--why is empty; say in a few words why you do this.')
  return { who: `operator:${as ?? userInfo().username}`, why }
}
