import { type GuardMark, markOf } from '../http/guard-mark.js'
import { changing, type FoundRoute } from './found-route.js'
import { guardAmong } from './guard-among.js'
import { type MountedLayer, mountPathOf } from './mount-path.js'

interface Layer extends MountedLayer {
  readonly name?: string
  readonly route?: Route
  readonly handle?: unknown
  match?(path: string): boolean
}

interface Route {
  readonly path: RoutePath | readonly RoutePath[]
  /** Without a method it is for all of them. */
  readonly stack: readonly { readonly method?: string; readonly handle: unknown }[]
}

type RoutePath = string | RegExp

/** Where a stack is mounted, and what stands before it there. */
interface Place {
  readonly path: string
  readonly note?: string
  /** What guards a path, as this stack sees paths. */
  guardsOf(path: string): readonly GuardMark[]
}

/**
 * The routes of Express, and of the routers that are mounted in it. What guards a path (`app.use('/payments', guard(…))`)
 * guards the routes behind it that it leads to, as those of Nest.
 */
export function expressRoutes(stack: readonly Layer[]): readonly FoundRoute[] {
  return routesIn(stack, { path: '', guardsOf: () => [] })
}

function routesIn(stack: readonly Layer[], place: Place): readonly FoundRoute[] {
  return stack.flatMap((layer, index) => {
    const before = stack.slice(0, index).filter(({ route }) => route === undefined)
    const guardsOf = (path: string) => [...guardsBefore(before, path), ...place.guardsOf(path)]
    if (layer.route !== undefined) return ofRoute(layer.route, { ...place, guardsOf })
    const inner = (layer.handle as { stack?: readonly Layer[] } | undefined)?.stack
    const note = Array.isArray(inner) ? undefined : whyUnseen(layer, stack.slice(index + 1), place)
    if (!Array.isArray(inner) && note === undefined) return []
    return mountsOf(layer, place).flatMap(({ mount, note: whereabouts }) => {
      const mounted = {
        path: `${place.path}${mount}`,
        ...(whereabouts !== undefined && { note: whereabouts }),
        guardsOf: (path: string) => guardsOf(`${mount}${path}`),
      }
      return Array.isArray(inner) ? routesIn(inner, mounted) : [unseen(mounted, note)]
    })
  })
}

function mountsOf(layer: Layer, { note }: Place): readonly { readonly mount: string; readonly note?: string }[] {
  const mounted = mountPathOf(layer)
  if (mounted.kind === 'unknown') return [{ mount: '…', note: mounted.why }]
  return mounted.paths.map((mount) => ({ mount, ...(note !== undefined && { note }) }))
}

const applicationWithin =
  'An application is mounted here, and Express shows nothing of it: give it to routesOf() by itself, and exempt this.'
const answersAll =
  'A function that takes no next answers here, whatever the method: guard it, or exempt this; if it goes on, let it take next.'

/**
 * Why nobody can say what happens at a layer that is no route and no router: an application within another shows nothing, and
 * what takes no `next` answers by itself. The last of all, at no path, is how an application says that nothing was found.
 */
function whyUnseen(layer: Layer, later: readonly Layer[], { path }: Place): string | undefined {
  if (layer.name === 'mounted_app') return applicationWithin
  if (typeof layer.handle !== 'function' || layer.handle.length > 2 || markOf(layer.handle) !== undefined) return
  const mounted = mountPathOf(layer)
  const isEverywhere = path === '' && mounted.kind === 'known' && mounted.paths.every((one) => one === '')
  return isEverywhere && later.every(takesErrors) ? undefined : answersAll
}

function takesErrors({ handle }: Layer): boolean {
  return typeof handle === 'function' && handle.length === 4
}

function unseen({ path, guardsOf }: Place, note: string | undefined): FoundRoute {
  const guard = guardsOf('/*').find(({ methods }) => methods.includes('POST'))
  return { method: 'POST', path: `${path}/*`, guard, ...(guard === undefined && note !== undefined && { note }) }
}

function ofRoute({ path, stack }: Route, place: Place): readonly FoundRoute[] {
  const named = stack.flatMap(({ method }) => (method === undefined ? changing : [method.toUpperCase()]))
  return [path].flat().flatMap((one) =>
    [...new Set(named)].map((method) => {
      const before = typeof one === 'string' ? place.guardsOf(one) : []
      const own = guardAmong(handlersOf(stack, method), method, 2)
      const guard = before.find(({ methods }) => methods.includes(method)) ?? own.guard
      const note = place.note ?? (guard === undefined ? own.note : undefined)
      return { method, path: joined(place.path, String(one)), guard, ...(note !== undefined && { note }) }
    }),
  )
}

/** What a request of this method passes: a route may have other functions for other methods. */
function handlersOf(stack: Route['stack'], wanted: string): readonly unknown[] {
  const passed = stack.filter(({ method }) => method === undefined || method.toUpperCase() === wanted)
  return passed.map(({ handle }) => handle)
}

function joined(mount: string, path: string): string {
  return path === '/' && mount !== '' ? mount : `${mount}${path}`
}

function guardsBefore(layers: readonly Layer[], path: string): readonly GuardMark[] {
  return layers.flatMap((layer) => {
    const mark = markOf(layer.handle)
    return mark !== undefined && layer.match?.(path) === true ? [mark] : []
  })
}
