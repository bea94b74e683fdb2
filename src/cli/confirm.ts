import { createInterface } from 'node:readline/promises'
import type { DeskFlags } from './desk.js'

/**
 * Whether to do what was shown: `--yes` says so, a person is asked, and where nobody can be asked nothing is done. A script
 * that forgot `--yes` is told on its error stream.
 */
export async function confirmed({ yes }: DeskFlags, question: string): Promise<boolean> {
  if (yes) return true
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true) {
    console.error('hapax: nothing was changed: add --yes to do it')
    return false
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  if (/^y(es)?$/i.test(answer.trim())) return true
  console.log('Nothing was changed.')
  return false
}
