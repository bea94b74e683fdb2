import { HapaxError } from '../kernel/errors.js'
import { changing, type FoundRoute } from './found-route.js'

export interface FastifyShape {
  ready?(): PromiseLike<unknown>
  printRoutes(options: object): string
  hasRoute(route: { method: string; url: string; constraints?: object }): boolean
}

/**
 * The routes of a Fastify instance that is ready. What it prints is all that it tells by then: for each method a tree of pieces
 * of paths, and at each route the names of its hooks. Every path that is put together from pieces is asked for again, so
 * that none is shown which is not there, and none is left out unsaid.
 */
export async function fastifyRoutes(app: FastifyShape): Promise<readonly FoundRoute[]> {
  await app.ready?.()
  return changing.flatMap((method) =>
    printed(app, method).map((route) => {
      const path = pathOf(app, method, route)
      const isGuarded = route.hooks.includes('hapaxGuard')
      return { method, path, guard: isGuarded ? { name: path, methods: changing } : undefined }
    }),
  )
}

interface PrintedRoute {
  /** From the root on, as they are printed. */
  readonly pieces: readonly string[]
  readonly constraints: object | undefined
  hooks: string
}

/** Every piece is printed: without those that routes have in common Fastify forgets what stands before a wildcard. */
function printed(app: FastifyShape, method: string): readonly PrintedRoute[] {
  const routes: PrintedRoute[] = []
  const pieces: string[] = []
  for (const line of app.printRoutes({ method, includeHooks: true, commonPrefix: true }).split('\n')) {
    if (line === '' || line === '(empty tree)') continue
    const [, indent = '', branch, rest = ''] = /^((?:[│ ] {3})*)([├└]── )?(.*)$/.exec(line) ?? []
    if (branch === undefined && rest.startsWith('• (')) {
      const last = routes.at(-1)
      if (last !== undefined) last.hooks += rest
      continue
    }
    const [, piece = rest, constraints] = routeEnd(method).exec(rest) ?? []
    // A path whose routes differ in what they ask of a request has a line for each of them, of which only the first is a branch.
    if (branch !== undefined) {
      pieces.length = indent.length / 4
      pieces.push(piece === '(empty root node)' ? '' : piece)
    } else if (pieces.at(-1) !== piece) throw unread(method, line)
    if (piece !== rest) routes.push({ pieces: [...pieces], constraints: constraintsIn(constraints), hooks: '' })
  }
  return routes
}

function routeEnd(method: string): RegExp {
  return new RegExp(`^(.*) \\(${method}\\)(?: (\\{.*\\}))?$`)
}

function constraintsIn(text: string | undefined): object | undefined {
  if (text === undefined) return undefined
  return JSON.parse(text, (_, value) => {
    const [, source, flags] = typeof value === 'string' ? (/^\/(.+)\/([a-z]*)$/.exec(value) ?? []) : []
    return source === undefined ? value : new RegExp(source, flags)
  })
}

function pathOf(app: FastifyShape, method: string, { pieces, constraints }: PrintedRoute): string {
  // The one for all paths is kept under another name than it is asked for.
  const isThere = (url: string) =>
    url === '*' || app.hasRoute({ method, url, ...(constraints !== undefined && { constraints }) })
  const path = pathsOf(pieces).find(isThere)
  if (path === undefined) throw unread(method, pieces.join(''))
  return path
}

/** More would be a path of many odd pieces, which is better said to be unread. */
const maxReadings = 64

/** What was written, of which some is lost in print: `::` is a colon, `%` is escaped, and `:a|:b` are two names of one place. */
function pathsOf(pieces: readonly string[]): readonly string[] {
  return pieces.reduce<readonly string[]>(
    (paths, piece) => paths.flatMap((path) => readingsOf(piece).map((one) => `${path}${one}`)).slice(0, maxReadings),
    [''],
  )
}

function readingsOf(printedPiece: string): readonly string[] {
  const piece = printedPiece.replaceAll('%25', '%')
  const [first = piece] = piece.split('|:')
  return [...new Set([first, piece, piece.replaceAll(':', '::')])]
}

function unread(method: string, what: string): HapaxError {
  const advice = 'call routeCollector(app) before the first route, and audit what it returns'
  return new HapaxError(
    'policy_invalid',
    `Fastify prints a route that cannot be read back (${method} ${what.trim()}), so that not all routes are known: ${advice}.`,
  )
}
