import { type OwnPostgres, ownPostgres, serverBinaries } from '../support/postgres-server.js'
import { atEnd } from './sandbox-process.js'

/** A PostgreSQL that goes when the test file is done. It is not running yet. */
export async function ownServer(access: readonly string[] = []): Promise<OwnPostgres> {
  const binaries = await serverBinaries('anywhere')
  if ('missing' in binaries) throw new Error(binaries.missing)
  const server = await ownPostgres(binaries, access)
  atEnd(() => server.remove())
  return server
}
