/** Builds the library and the sandbox, unless their sources are those of the last build. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { script } from './parts.mjs'
import { run } from './processes.mjs'
import { root } from './root.mjs'

/** What `npm start` runs. */
const sandbox = join(root, 'examples', 'sandbox', 'dist', 'supervisor', 'main.js')

const library = join(root, 'dist', 'index.js')
const stamp = join(root, 'dist', '.sources')
const settings = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json']
const sources = ['src', 'examples/sandbox']
const outputs = ['dist', 'node_modules']

/** The scripts that build, in order: the sandbox imports the library as it is published. */
export const buildScripts = ['build', 'build:sandbox']

/** @param {(line: string) => void} say */
export async function build(say) {
  const hash = hashSources()
  if (existsSync(sandbox) && existsSync(library) && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return
  say('building')
  for (const name of buildScripts) {
    if (!(await run(script(name), { stdout: process.stderr }))) throw new Error('The build failed: see above.')
  }
  writeFileSync(stamp, hash)
}

/** By content: a checkout touches every file and changes few. */
function hashSources() {
  const hash = createHash('sha256')
  for (const file of [...settings, ...sources.flatMap(filesUnder)])
    hash.update(`${file}\0`).update(readFileSync(join(root, file)))
  return hash.digest('hex')
}

/**
 * @param {string} path
 * @returns {string[]}
 */
function filesUnder(path) {
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => {
    if (outputs.includes(entry.name) || entry.name.startsWith('.')) return []
    return entry.isDirectory() ? filesUnder(`${path}/${entry.name}`) : [`${path}/${entry.name}`]
  })
}
