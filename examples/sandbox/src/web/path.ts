import type { FastifyInstance, RouteShorthandOptionsWithHandler } from 'fastify'
import { Problem } from './problem.js'

export type Path = readonly [method: Method | Method[], url: string, route: RouteShorthandOptionsWithHandler]
type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** Serves the paths, and says which methods each of them knows. */
export function addPaths(app: FastifyInstance, paths: readonly Path[]): void {
  for (const [method, url, route] of paths) app.route({ ...route, method: withHead(method), url })
  for (const url of new Set(paths.map(([, url]) => url))) {
    const here = paths.filter(([, other]) => other === url)
    const allowed = here.flatMap(([method]) => withHead(method))
    refuseOtherMethods(app, url, allowed, here[0]?.[2].errorHandler)
  }
}

/** Whatever can be read can be asked for its headers alone. */
function withHead(method: Method | Method[]): string[] {
  return [method].flat().flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one]))
}

/** Where Fastify would say that there is no such path. */
function refuseOtherMethods(
  app: FastifyInstance,
  url: string,
  allowed: readonly string[],
  errorHandler: RouteShorthandOptionsWithHandler['errorHandler'],
): void {
  const others = app.supportedMethods.filter((method) => !allowed.includes(method))
  const refuse = async () => {
    throw new Problem({
      status: 405,
      code: 'method_not_allowed',
      title: 'This path does not know the method.',
      detail: `Use ${allowed.join(', ')}.`,
      headers: { Allow: allowed.join(', ') },
    })
  }
  // Before the body, which nobody needs.
  const inTheirWords = errorHandler === undefined ? {} : { errorHandler }
  app.route({ method: others, url, onRequest: refuse, handler: refuse, ...inTheirWords })
}
