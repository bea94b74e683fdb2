/** The simulation and the source that it simulates, as one file: quick to start, and quick to run. */
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build } from 'esbuild'
import { root } from '../root.mjs'

/**
 * One edit of one file of the source.
 *
 * @typedef {{ readonly file: string, readonly from: string, readonly to: string }} Patch
 */

/**
 * @param {string} name of the file that is written
 * @param {{ readonly entry?: string, readonly patch?: Patch }} [options]
 * @returns {Promise<string>} its path
 */
export async function bundled(name, { entry = 'test/simulation/main.ts', patch } = {}) {
  const outfile = join(root, '.cache', 'simulation', `${name}.mjs`)
  await build({
    entryPoints: [join(root, entry)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
    plugins: patch === undefined ? [] : [patching(patch)],
  })
  return outfile
}

/**
 * @param {Patch} patch
 * @returns {import('esbuild').Plugin}
 */
function patching({ file, from, to }) {
  return {
    name: 'patching',
    setup(building) {
      building.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (relative(root, path) !== file) return undefined
        return { contents: patched(readFileSync(path, 'utf8'), { file, from, to }), loader: 'ts' }
      })
    },
  }
}

/**
 * @param {string} source
 * @param {Patch} patch
 */
export function patched(source, { file, from, to }) {
  const parts = source.split(from)
  if (parts.length !== 2)
    throw new Error(`${file} has “${from}” ${parts.length - 1} times: the patch no longer applies.`)
  return parts.join(to)
}
