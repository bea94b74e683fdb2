/** A terminal of our own, by tmux: what a person would see of commands, with colours and prompts. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** @typedef {{ run(line: string): Promise<string>, type(line: string, until: RegExp): Promise<void>, press(key: string): Promise<string>, close(): void }} Terminal */

/**
 * @param {{ columns: number, rows: number, path: string, cwd: string, env: Readonly<Record<string, string>> }} options
 * @returns {Terminal}
 */
export function terminal({ columns, rows, path, cwd, env }) {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-terminal-'))
  const socket = join(folder, 'tmux')
  const tmux = (/** @type {string[]} */ ...args) =>
    execFileSync('tmux', ['-S', socket, '-f', '/dev/null', ...args], { encoding: 'utf8', timeout: 60_000 })
  const exports = Object.entries({ ...env, PATH: `${path}:${process.env.PATH}` }).map(
    ([name, value]) => `export ${name}='${value}'`,
  )
  // Each prompt says that the command before it is over.
  const rc = join(folder, 'rc')
  writeFileSync(
    rc,
    [
      ...exports,
      `PS2=''`,
      `PS1='\\[\\e[1m\\]$\\[\\e[0m\\] '`,
      `PROMPT_COMMAND='tmux -S ${socket} wait-for -S prompt'`,
      '',
    ].join('\n'),
  )
  const size = ['-x', String(columns), '-y', String(rows)]
  tmux('new-session', '-d', '-s', 'screen', '-c', cwd, ...size, `bash --noprofile --rcfile ${rc} -i`)
  tmux('wait-for', 'prompt')

  const screen = () => tmux('capture-pane', '-p', '-e', '-t', 'screen').trimEnd()
  const send = (/** @type {string[]} */ ...keys) => void tmux('send-keys', '-t', 'screen', ...keys)
  const blank = () => {
    send('-R')
    tmux('clear-history', '-t', 'screen')
  }
  /** The prompt of the next command is not part of what this one has shown. */
  const shown = () => screen().replace(/\n[^\n]*\$[^\n]*$/, '')

  return {
    async run(line) {
      await cleared(send, blank, screen)
      send('-l', line)
      send('Enter')
      tmux('wait-for', 'prompt')
      await wait(100)
      return shown()
    },
    async type(line, until) {
      await cleared(send, blank, screen)
      send('-l', line)
      send('Enter')
      for (let tries = 0; tries < 300 && !until.test(screen()); tries++) await wait(100)
    },
    async press(key) {
      send(key, 'Enter')
      tmux('wait-for', 'prompt')
      await wait(100)
      return shown()
    },
    close() {
      tmux('kill-server')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * An empty screen with a prompt on its first line.
 *
 * @param {(...keys: string[]) => void} send
 * @param {() => void} blank
 * @param {() => string} screen
 */
async function cleared(send, blank, screen) {
  blank()
  send('C-l')
  for (let tries = 0; tries < 50 && screen().split('\n').length > 1; tries++) await wait(50)
}
