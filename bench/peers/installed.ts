/** Those who are compared, and their client libraries: installed on demand, apart from what Hapax itself needs. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { installLocked, isInstalled } from '../../scripts/install.mjs'

const folder = new URL('programs/', import.meta.url)

/** Where their programs are. Throws when they cannot be installed. */
export async function installedPrograms(): Promise<URL> {
  if (!isInstalled(packagesIn('package-lock.json'), packagesIn('node_modules/.package-lock.json'))) {
    console.error('installing what is compared, into bench/peers/programs')
    await installLocked(fileURLToPath(folder))
  }
  return folder
}

function packagesIn(path: string): Parameters<typeof isInstalled>[0] {
  const file = new URL(path, folder)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {}
}
