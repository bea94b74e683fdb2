/**
 * Where a router is mounted in Express, which keeps no path but what it makes of it: a regular expression, open to see in
 * Express 4, within a function in Express 5. That one is seen when it is used, and read back into a path; a path that was
 * read is tried, so that none is shown which does not lead there.
 */
export type MountPath =
  | { readonly kind: 'known'; readonly paths: readonly string[] }
  | { readonly kind: 'unknown'; readonly why: string }

/** A layer as Express 4 has it, with `regexp` and `keys`, or Express 5, with `matchers`. */
export interface MountedLayer {
  readonly regexp?: RegExp & { readonly fast_slash?: boolean }
  readonly keys?: readonly { readonly name: string | number }[]
  readonly slash?: boolean
  readonly matchers?: readonly Matcher[]
}

type Matcher = (path: string) => false | { readonly params?: Readonly<Record<string, unknown>> }

export function mountPathOf(layer: MountedLayer): MountPath {
  if (layer.slash === true || layer.regexp?.fast_slash === true) return { kind: 'known', paths: [''] }
  const read = [...readIn4(layer), ...readIn5(layer)]
  const paths = read.flatMap((one) => one.paths ?? [])
  const unread = read.find((one) => one.paths === undefined)
  if (unread !== undefined) return unknown(`It is mounted at the expression ${unread.regexp}, which is no path`)
  return paths.length > 0
    ? { kind: 'known', paths }
    : unknown('This version of Express does not tell where it is mounted')
}

function unknown(fact: string): MountPath {
  const advice = 'mount it at a path, or give the router to routesOf() by itself'
  return { kind: 'unknown', why: `${fact}: ${advice}.` }
}

interface ReadBack {
  readonly regexp: RegExp
  readonly paths: readonly string[] | undefined
}

function readIn4({ regexp, keys = [] }: MountedLayer): readonly ReadBack[] {
  if (regexp === undefined) return []
  const names = keys.map(({ name }) => (typeof name === 'number' ? undefined : name))
  return [{ regexp, paths: pathsIn(regexp, end4, () => names) }]
}

function readIn5({ matchers = [] }: MountedLayer): readonly ReadBack[] {
  return matchers.flatMap((matcher) => {
    const regexp = usedBy(matcher)
    return regexp === undefined
      ? []
      : [{ regexp, paths: pathsIn(regexp, end5, (example) => namesIn(matcher, example)) }]
  })
}

/** How the expression of what is mounted ends, in each. */
const end4 = '\\/?(?=\\/|$)'
const end5 = '(?:\\/$)?(?=\\/|$)'

/** The expression that a function asks. Nothing else runs meanwhile: it is one call, and what was there is put back. */
function usedBy(matcher: Matcher): RegExp | undefined {
  const { exec } = RegExp.prototype
  let used: RegExp | undefined
  RegExp.prototype.exec = function (this: RegExp, text: string) {
    used ??= this
    return exec.call(this, text)
  }
  try {
    matcher('/')
  } catch {
    // What it made of the path does not matter.
  } finally {
    RegExp.prototype.exec = exec
  }
  return used
}

type Names = readonly (string | undefined)[]

/** Every path that an expression stands for; `undefined` where one of them cannot be read. */
function pathsIn(regexp: RegExp, end: string, namesOf: (example: string) => Names): readonly string[] | undefined {
  const wholes = regexp.source.split(`${end}|`).map((part) => (part.endsWith(end) ? part.slice(0, -end.length) : part))
  const paths = wholes.flatMap((whole) => alternatives(whole)).map((body) => pathOf(body, regexp, namesOf))
  return paths.every((path) => path !== undefined) && regexp.source.endsWith(end) ? paths : undefined
}

/** Those of an optional part, in Express 5. */
function alternatives(whole: string): readonly (string | undefined)[] {
  const body = whole.startsWith('^(?:') && whole.endsWith(')') ? whole.slice(4, -1) : undefined
  if (body !== undefined && isBalanced(body)) return splitOutside(body)
  return whole.startsWith('^') ? [whole.slice(1)] : [undefined]
}

function pathOf(body: string | undefined, regexp: RegExp, namesOf: (example: string) => Names): string | undefined {
  const parts = body === undefined ? undefined : partsOf(body)
  if (parts === undefined) return undefined
  const filled = (value: (index: number) => string) => {
    let index = 0
    return parts.map((part) => ('text' in part ? part.text : value(index++))).join('')
  }
  const example = [filled((index) => `p${index}`), filled((index) => `${index}`)].find((path) => leads(regexp, path))
  if (example === undefined) return undefined
  const names = namesOf(example)
  let index = 0
  const words = parts.map((part) => {
    if ('text' in part) return part.text
    const name = names[index++]
    return name === undefined ? '*' : `${part.takes === 'anything' ? '*' : ':'}${name}`
  })
  return words.join('')
}

function leads(regexp: RegExp, path: string): boolean {
  return regexp.exec(path)?.[0] === path
}

/** In Express 5 only a match tells names: of each the value that it was given. */
function namesIn(matcher: Matcher, example: string): Names {
  const match = matcher(example)
  const params = Object.entries((match || undefined)?.params ?? {})
  return params
    .toSorted(([, a], [, b]) => example.indexOf(String(a)) - example.indexOf(String(b)))
    .map(([name]) => name)
}

type Part = { readonly text: string } | { readonly takes: 'segment' | 'anything' }

/** Letters, what is escaped, and what is captured. Anything else is more than a path. */
function partsOf(body: string): readonly Part[] | undefined {
  // In Express 4 a parameter stands in a group with its slash.
  const flat = body.replaceAll(/\(\?:\\\/(\((?:[^()]|\([^()]*\))*\))\)(?!\?)/g, '\\/$1').replaceAll(grouped, '$1')
  const parts: Part[] = []
  for (let at = 0; at < flat.length; ) {
    const [whole, escaped, captured, plain] = part.exec(flat.slice(at)) ?? []
    if (whole === undefined) return undefined
    if (captured !== undefined) parts.push({ takes: anything.includes(captured) ? 'anything' : 'segment' })
    else parts.push({ text: escaped ?? plain ?? '' })
    at += whole.length
  }
  return parts
}

const part = /^(?:\\([^\w\s])|(\((?!\?)(?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))(?!\?)|([^\\()[\]{}.*+?|^$]))/
/** As Express 4 has a parameter behind something else than a slash. */
const grouped = /\(\?:(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))\)(?!\?)/g
const anything: readonly string[] = ['(.*)', '([^]+)', '([\\s\\S]+)']

function isBalanced(text: string): boolean {
  let depth = 0
  for (const letter of text.replaceAll(/\\./g, '')) {
    if (letter === '(') depth++
    if (letter === ')' && --depth < 0) return false
  }
  return depth === 0
}

/** At what stands between alternatives, and in no group. */
function splitOutside(text: string): readonly string[] {
  const found = ['']
  let depth = 0
  for (const [piece] of text.matchAll(/\\.|\[(?:\\.|[^\]])*\]|[\s\S]/g)) {
    if (piece === '(') depth++
    if (piece === ')') depth--
    if (piece === '|' && depth === 0) found.push('')
    else found[found.length - 1] += piece
  }
  return found
}
