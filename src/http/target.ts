import type { Exchange } from './exchange.js'

/** What a request is about: method and path, and the query with its parameters in one order. */
export interface Target {
  readonly subject: readonly string[]
  readonly query: string | undefined
}

export function targetOf<Tx>({ method, target }: Pick<Exchange<Tx>, 'method' | 'target'>): Target {
  const at = target.indexOf('?')
  if (at === -1) return { subject: [method, target], query: undefined }
  return { subject: [method, target.slice(0, at)], query: sorted(target.slice(at + 1)) }
}

/** Parameters of one name keep their order, since an application may go by it. */
function sorted(query: string): string {
  const named = query.split('&').map((parameter) => [parameter.split('=', 1)[0] ?? '', parameter] as const)
  return named
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, parameter]) => parameter)
    .join('&')
}
