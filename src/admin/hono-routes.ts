import { changing, type FoundRoute } from './found-route.js'
import { guardAmong } from './guard-among.js'

export interface HonoRoute {
  readonly method: string
  readonly path: string
  readonly handler: unknown
}

interface Listed extends HonoRoute {
  readonly note?: string
}

const mounted =
  'An application is mounted here, for every method, and Hono shows nothing of it: audit it by itself, and exempt this.'
const last =
  'A function that takes next is the last here, for every method: if it answers, guard it; if it only goes on, exempt this.'

/**
 * The routes of Hono, which has what stands before a route and what takes every method in one list and looks alike: what may
 * answer by itself is shown too, with a note, since nobody can say that it is guarded.
 */
export function honoRoutes(routes: readonly HonoRoute[]): readonly FoundRoute[] {
  return routes
    .flatMap((route, index) => listed(route, routes.slice(index + 1)))
    .filter(
      (route, index, all) => all.findIndex((one) => one.method === route.method && one.path === route.path) === index,
    )
    .map(({ method, path, note }) => {
      // A route may have several functions, each an entry of its own.
      const passed = routes.filter((one) => one.path === path && (one.method === method || one.method === 'ALL'))
      const { guard, note: own = note } = guardAmong(passed.map(unwrapped), method, 1)
      return { method, path, guard, ...(guard === undefined && own !== undefined && { note: own }) }
    })
}

function listed(route: HonoRoute, later: readonly HonoRoute[]): readonly Listed[] {
  if (route.method !== 'ALL') return [route]
  if (answers(route)) return changing.map((method) => ({ ...route, method }))
  if (isMount(route)) return [{ ...route, method: 'POST', note: mounted }]
  return later.some((one) => standsBefore(route, one)) ? [] : [{ ...route, method: 'POST', note: last }]
}

/** What takes a `next` may stand before a route; what does not is one, for every method. */
function answers(route: HonoRoute): boolean {
  const handler = unwrapped(route)
  return typeof handler === 'function' && handler.length < 2
}

/** By its text, as Hono writes it: it has no other mark. Where a bundler has changed that, it is seen if it is the last. */
function isMount(route: HonoRoute): boolean {
  return /\bapplicationHandler\b/.test(String(unwrapped(route)))
}

/** Whether what is at the one path is passed by all that comes to the other; at one path only, by what changes something. */
function standsBefore({ path }: HonoRoute, later: HonoRoute): boolean {
  const isWide = path.endsWith('*')
  return leads(path, later.path) && (isWide || later.method === 'ALL' || changing.includes(later.method))
}

function leads(wide: string, path: string): boolean {
  const segments = path.split('/')
  const wanted = wide.split('/')
  const isOpen = wanted.at(-1) === '*'
  const named = isOpen ? wanted.slice(0, -1) : wanted
  if (isOpen ? segments.length < named.length : segments.length !== named.length) return false
  return named.every((one, index) => one === segments[index] || one === '*' || one.startsWith(':'))
}

/** An application within another that handles its own errors is wrapped, and what was wrapped is kept. */
function unwrapped({ handler }: HonoRoute): unknown {
  return (handler as { __COMPOSED_HANDLER?: unknown } | undefined)?.__COMPOSED_HANDLER ?? handler
}
