import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the repository, wherever a script was started. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))
