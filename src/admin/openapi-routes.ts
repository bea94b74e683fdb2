import { changing, type FoundRoute } from './found-route.js'

export interface OpenApiShape {
  readonly paths: Readonly<Record<string, PathItem>>
}

interface PathItem extends Referring {
  readonly parameters?: readonly Parameter[]
  readonly [method: string]: unknown
}

interface Operation {
  readonly operationId?: string
  readonly parameters?: readonly Parameter[]
  readonly 'x-idempotency'?: unknown
}

interface Parameter extends Referring {
  readonly in?: string
  readonly name?: string
}

/** Many things may stand elsewhere in the document. */
interface Referring {
  readonly $ref?: string
}

/** The operations of an OpenAPI document. Those that take a key, or say how they are idempotent, count as guarded. */
export function openApiRoutes(document: OpenApiShape): readonly FoundRoute[] {
  return Object.entries(document.paths).flatMap(([path, given]) => {
    const item = followed(document, given)
    if (item === undefined) return [unseen(path, given)]
    return Object.entries(item)
      .filter(([method]) => changing.includes(method.toUpperCase()))
      .map(([method, operation]) => foundIn(document, { method, path, item }, operation as Operation))
  })
}

function foundIn(
  document: OpenApiShape,
  { method, path, item }: { readonly method: string; readonly path: string; readonly item: PathItem },
  operation: Operation,
): FoundRoute {
  const { operationId: name = `${method.toUpperCase()} ${path}`, 'x-idempotency': said = false } = operation
  // What all operations of a path take stands with the path.
  const takesKey = [...(item.parameters ?? []), ...(operation.parameters ?? [])].some((one) =>
    isKey(followed(document, one)),
  )
  const isGuarded = takesKey || (said !== false && said !== null)
  return { method, path, guard: isGuarded ? { name, methods: changing } : undefined }
}

function isKey({ in: place, name = '' }: Parameter = {}): boolean {
  return place === 'header' && /^(x-)?idempotency-key$/i.test(name)
}

/** What stands in another document may be anything, so that nobody can say that it is guarded. */
function unseen(path: string, { $ref }: PathItem): FoundRoute {
  const note = `It stands at ${$ref}, which is not in this document: bundle the document into one file, and look at that.`
  return { method: 'POST', path, guard: undefined, note }
}

/** A reference may lead to another one, and in a broken document around. */
const mostReferences = 10

/** What a reference leads to, with what stands beside it. `undefined` where that is not in this document. */
function followed<T extends Referring>(document: object, given: T): T | undefined {
  let { $ref, ...found } = given
  for (let hop = 0; $ref !== undefined; hop++) {
    const next = hop < mostReferences ? pointedAt(document, $ref) : undefined
    if (typeof next !== 'object' || next === null) return undefined
    const { $ref: further, ...rest } = next as Referring
    found = { ...rest, ...found } as typeof found
    $ref = further
  }
  return found as T
}

/** A JSON pointer within the document. */
function pointedAt(document: object, $ref: string): unknown {
  if (!$ref.startsWith('#/')) return undefined
  return $ref
    .slice('#/'.length)
    .split('/')
    .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, step) => (at as Readonly<Record<string, unknown>> | undefined)?.[step], document)
}
