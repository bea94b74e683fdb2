import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { root } from '../../scripts/root.mjs'

/** Of a package, as it is installed in a folder; by default in that of Hapax itself. */
export function versionOf(name: string, folder: URL = pathToFileURL(`${root}/`)): string {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, folder), 'utf8')).version
}
