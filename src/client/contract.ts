/** The entry point `hapax/client/contract`: what a client learns from what an API publishes. */
import type { Duration } from '../kernel/duration-text.js'
import { hasVariety } from '../kernel/variety.js'
import { ClientError } from './errors.js'

/** Of what `contractOf` publishes, what a client goes by. */
export interface PublishedContract {
  readonly routes: readonly {
    readonly name: string
    readonly key: {
      readonly header: string
      readonly syntax: string
      readonly max_length: number
      readonly min_length: number
      readonly min_variety?: number
      readonly format?: { readonly pattern: string; readonly flags: string }
    }
    readonly retention: { readonly ms: number | null }
  }[]
}

export interface ContractOptions {
  readonly header: string
  readonly spelling: 'raw' | 'quoted'
  readonly makeKey: () => string
  /** For a queue: four fifths of the time that the server keeps its keys. */
  readonly maxAge?: Duration
}

/**
 * The options of a client, by what an API publishes about one of its routes. A key that the route would not take is found
 * here, and not by the first customer.
 *
 * @example
 * const contract = await (await fetch('https://api.example.com/idempotency/policy')).json()
 * const send = idempotentFetch(contractOptions(contract, 'payments.create', newKey))
 */
export function contractOptions({ routes }: PublishedContract, name: string, makeKey: () => string): ContractOptions {
  const route = routes.find((route) => route.name === name)
  if (route === undefined) throw new ClientError('options_invalid', `The contract has no route "${name}".`)
  const { header, syntax, min_length, max_length, min_variety = 1, format } = route.key
  const key = makeKey()
  const fits = format === undefined || new RegExp(format.pattern, format.flags).test(key)
  if (key.length < min_length || key.length > max_length || !hasVariety(key, min_variety) || !fits)
    throw new ClientError('options_invalid', `"${name}" takes no key as makeKey makes them; see its contract.`)
  const { ms } = route.retention
  return {
    header,
    spelling: syntax === 'string' ? 'quoted' : 'raw',
    makeKey,
    ...(ms !== null && { maxAge: `${Math.floor((ms * 0.8) / 1_000)}s` as const }),
  }
}
