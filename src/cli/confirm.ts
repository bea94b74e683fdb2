import { createInterface } from 'node:readline/promises'
import type { DeskFlags } from './desk.js'
import { exitCodes } from './exit.js'

/** Something that changes what is stored. */
export interface Change<Shown extends object, Done extends object> {
  /** What it is about. */
  shown(): Promise<Shown>
  shownText(shown: Shown): string
  readonly question: string
  act(): Promise<Done>
  doneText(done: Done): string
}

/**
 * Shows what a change is about, asks, and does it. As JSON it is one object, whose `changed` says whether it was done: what was
 * shown, or what was done. Gives the same.
 */
export async function confirmedChange<Shown extends object, Done extends object>(
  flags: Pick<DeskFlags, 'yes' | 'json'>,
  { shown, shownText, question, act, doneText }: Change<Shown, Done>,
): Promise<Shown | Done> {
  const { yes, json } = flags
  const about = json ? undefined : await shown()
  if (about !== undefined) console.log(shownText(about))
  if (yes || (await isConfirmed(question))) {
    const done = await act()
    console.log(json ? JSON.stringify({ changed: true, ...done }) : doneText(done))
    return done
  }
  const left = about ?? (await shown())
  if (json) console.log(JSON.stringify({ changed: false, ...left }))
  return left
}

/** A person is asked, and where nobody can be asked nothing is done: a script that forgot `--yes` is told so by its exit code. */
async function isConfirmed(question: string): Promise<boolean> {
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true) {
    console.error('hapax: nothing was changed: add --yes to do it')
    process.exitCode = exitCodes.notConfirmed
    return false
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  if (/^y(es)?$/i.test(answer.trim())) return true
  console.log('Nothing was changed.')
  return false
}
