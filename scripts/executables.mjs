import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import process from 'node:process'

/**
 * The first folder that holds all of these programs: one on the path, or else one of the usual places.
 *
 * @param {readonly string[]} names
 * @param {readonly string[]} usual
 * @returns {string | undefined}
 */
export function folderWith(names, usual) {
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...onPath, ...usual].find((folder) => names.every((name) => isExecutable(join(folder, name))))
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
