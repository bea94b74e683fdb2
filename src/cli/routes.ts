import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from 'commander'
import { exempting, type GuardedRoute, routesOf } from '../admin/route-audit.js'
import { exitCodes, thenExit } from './exit.js'
import { painted } from './paint.js'
import { remoteAdmin } from './remote.js'
import { table } from './table.js'
import { namesIn, usage } from './usage.js'

const examples = `
Examples:
  hapax routes ./dist/app.js                         a module that exports its Fastify, Express, Hono or Nest app
  hapax routes openapi.json                          a description of an API
  hapax routes http://localhost:3000/admin           what a running application says of itself
  hapax routes ./dist/app.js --exempt "POST /login,POST /webhooks/*"

An OpenAPI document is read as JSON, all of it in one file; one in YAML is converted first: npx js-yaml openapi.yaml > openapi.json

A route that changes something and that nothing guards is a gap. PUT and DELETE are idempotent by themselves, if they are
implemented as they are defined.

Exit codes: 0 no gap, 1 there are gaps, or it failed, 2 wrong usage.`

interface RouteFlags {
  readonly exempt?: string
  readonly json?: boolean
}

/** `hapax routes <app>` */
export function addRoutesAudit(program: Command): void {
  program
    .command('routes')
    .description('list the routes that change something, and which of them nothing guards')
    .argument('<app>', 'a module that exports the app, an OpenAPI document (.json), or an admin URL')
    .option('--exempt <routes>', 'routes that need no key, like "POST /login", separated by commas; * is anything')
    .option('--json', 'print JSON instead of text')
    .addHelpText('after', examples)
    .action((given: string, flags: RouteFlags) => thenExit(() => audit(given, flags)))
}

async function audit(given: string, { exempt, json }: RouteFlags): Promise<void> {
  const found = /^https?:\/\//i.test(given)
    ? await remoteAdmin(given, process.env.HAPAX_ADMIN_TOKEN).routes()
    : await routesOf(await appIn(given))
  const routes = exempting(found, { exempt: namesIn('--exempt', exempt) ?? [] })
  const gaps = routes.filter(({ verdict }) => verdict === 'gap')
  console.log(json ? JSON.stringify({ gaps: gaps.length, routes }) : routesText(routes, gaps.length))
  if (gaps.length > 0) process.exitCode = exitCodes.failed
}

function routesText(routes: readonly GuardedRoute[], gaps: number): string {
  if (routes.length === 0) return 'No route changes anything.'
  const rows = routes.map(({ method, path, verdict, by = '' }) => [method, path, by, painted(verdict)])
  const notes = routes.flatMap(({ method, path, note }) => (note === undefined ? [] : [`${method} ${path}: ${note}`]))
  const sum = gaps === 0 ? 'No gap.' : `${gaps} ${gaps === 1 ? 'gap' : 'gaps'}.`
  return [...table(['method', 'path', 'guarded by', 'verdict'], rows, process.stdout.columns), '', ...notes, sum].join(
    '\n',
  )
}

async function appIn(path: string): Promise<unknown> {
  if (/\.ya?ml$/i.test(path)) {
    const converted = path.replace(/\.ya?ml$/i, '.json')
    throw usage(`${path} is YAML, and only JSON is read. Convert it: npx js-yaml ${path} > ${converted}`)
  }
  try {
    if (path.endsWith('.json')) return JSON.parse(readFileSync(path, 'utf8'))
    const module = (await import(pathToFileURL(resolve(path)).href)) as Readonly<Record<string, unknown>>
    return module.app ?? module.default
  } catch (error) {
    throw usage(`${path} could not be loaded. (${error instanceof Error ? error.message : error})`)
  }
}
