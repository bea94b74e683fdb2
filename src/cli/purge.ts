import type { Command } from 'commander'
import { confirmedChange } from './confirm.js'
import { actorOf, atDesk, type DeskFlags, deskCommand, writing } from './desk.js'
import { notConfirmedHelp } from './exit.js'
import { storyText } from './keys.js'

const examples = `
Examples:
  hapax purge http://localhost:3000/admin acme order-41 --why "wrong answer stored by release 41"
  hapax purge .data/hapax.db acme order-41 --why "…" --yes

The next request with this key runs again, in the next generation: everything that it does is done once more. Answers are also
given from memory, so that this holds on every node after five seconds. What is unknown or in progress is never purged, nor what has effects that are not final.

Exit codes: 0 done; 1 it was refused, or it failed; 2 wrong usage;
${notConfirmedHelp}.`

/** `hapax purge <where> <scope> <key>` */
export function addPurge(program: Command): void {
  writing(deskCommand(program, 'purge', 'take an answer away, so that the next request with its key runs'))
    .argument('<scope>', 'whose key it is')
    .argument('<key>', 'the key')
    .addHelpText('after', examples)
    .action((where: string, scope: string, key: string, flags: DeskFlags) => {
      const by = actorOf(flags)
      return atDesk(where, flags, async ({ admin }) => {
        const name = { scope, key }
        await confirmedChange(flags, {
          shown: () => admin.story(name),
          shownText: (story) => `${storyText(story)}\n`,
          question: 'Purge its answer? The next request with this key runs again.',
          act: () => admin.purge(name, by),
          doneText: ({ audit }) => `Purged. Entry ${audit[0]?.sequence} of the audit log.`,
        })
      })
    })
}
