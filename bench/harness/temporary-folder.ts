import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Later } from './closing.js'

const folders = new Set<string>()

process.once('exit', () => {
  for (const folder of folders) remove(folder)
})

/** Gone with the bench, also with one that is interrupted. */
export function temporaryFolder(whose: string, later: Later): string {
  const folder = mkdtempSync(join(tmpdir(), `hapax-${whose}-`))
  folders.add(folder)
  later(() => remove(folder))
  return folder
}

function remove(folder: string): void {
  folders.delete(folder)
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}
