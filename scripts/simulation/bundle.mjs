/** The simulation and the source that it simulates, as one file: quick to start, and quick to run. */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build } from 'esbuild'
import { root } from '../root.mjs'

/**
 * One edit of one file of the source.
 *
 * @typedef {{ readonly file: string, readonly from: string, readonly to: string }} Edit
 */

/**
 * @param {string} name of the file that is written
 * @param {{ readonly entry?: string, readonly edits?: readonly Edit[] }} [options]
 * @returns {Promise<string>} its path
 */
export async function bundled(name, { entry = 'test/simulation/main.ts', edits = [] } = {}) {
  const outfile = join(root, '.cache', 'simulation', `${name}.mjs`)
  await build({
    entryPoints: [join(root, entry)],
    absWorkingDir: root,
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
    plugins: [patching(edits)],
  })
  return outfile
}

/**
 * Which code a bundle is, wherever it was made: whoever has the same gets the same schedule of a seed.
 *
 * @param {string} bundle
 */
export function codeOf(bundle) {
  return hash('sha256', readFileSync(bundle)).slice(0, 12)
}

/**
 * @param {readonly Edit[]} edits
 * @returns {import('esbuild').Plugin}
 */
function patching(edits) {
  const files = new Set(edits.map(({ file }) => file))
  return {
    name: 'patching',
    setup(building) {
      building.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const file = relative(root, path)
        return files.has(file) ? { contents: patched(file, edits), loader: 'ts' } : undefined
      })
    },
  }
}

/**
 * A file of the source with all that is edited in it.
 *
 * @param {string} file
 * @param {readonly Edit[]} edits
 */
export function patched(file, edits) {
  let source = readFileSync(join(root, file), 'utf8')
  for (const { from, to } of edits.filter((edit) => edit.file === file)) {
    const parts = source.split(from)
    if (parts.length !== 2)
      throw new Error(`${file} has “${from}” ${parts.length - 1} times: the patch no longer applies.`)
    source = parts.join(to)
  }
  return source
}
