import type { Engine } from '../engine/engine.js'
import { catalogue, type ErrorCode } from '../kernel/errors.js'
import { guardedBy } from './contract.js'
import type { RouteContract } from './contract-data.js'
import { type Components, components, type Reference } from './openapi-components.js'
import { type JsonSchema, keySchema, schemaOf } from './openapi-schemas.js'
import type { Profile } from './profile.js'
import { problemOf } from './route-contract.js'
import { acceptedStatus } from './statuses.js'

/** What one guarded method adds to an operation: its parameters, and the responses that are not the application's. */
export interface OpenApiOperation {
  readonly parameters: readonly Reference[]
  readonly responses: Readonly<Record<string, Reference>>
  readonly 'x-idempotency': Omit<RouteContract, 'statuses' | 'errors'> & {
    /** What an answer of the application has beside its own headers. */
    readonly answer_headers: Readonly<Record<string, Reference>>
  }
}

/** A part of an OpenAPI description, and a valid one by itself. */
export interface OpenApiFragment {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly components: {
    readonly parameters: Readonly<Record<string, object>>
    readonly headers: Readonly<Record<string, object>>
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly responses: Readonly<Record<string, object>>
    /** By the name of the route, and then by method in lower case. */
    readonly pathItems: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  }
}

/**
 * The active policy as OpenAPI 3.1, to be merged into the description of an API: put its components beside your own, and
 * what stands under `components.pathItems` into your operations. Several engines, say one on PostgreSQL and one on Redis, are
 * described together, so that their names do not clash.
 *
 * @example
 * app.get('/idempotency/openapi', () => openApiOf(hapax))
 */
export function openApiOf<Txs extends readonly unknown[]>(
  ...engines: { readonly [I in keyof Txs]: Engine<Txs[I]> }
): OpenApiFragment {
  const made: Made = {
    parameters: components('parameters'),
    headers: components('headers'),
    schemas: components('schemas'),
    responses: components('responses'),
  }
  const pathItems = components<Record<string, OpenApiOperation>>('pathItems')
  for (const { contract, profile } of engines.flatMap((hapax) => guardedBy(hapax))) {
    const { statuses, errors, ...policy } = contract
    const operation = {
      parameters: parametersOf(made, contract),
      responses: { ...acceptedOf(made, contract), ...problemsOf(made, contract, profile) },
      'x-idempotency': { ...policy, answer_headers: answerHeaders(made, contract) },
    }
    const methods = contract.methods.map((method) => [method.toLowerCase(), operation])
    pathItems.add(contract.name, Object.fromEntries(methods))
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Idempotency keys', version: '1' },
    components: {
      parameters: made.parameters.all(),
      headers: made.headers.all(),
      schemas: made.schemas.all(),
      responses: made.responses.all(),
      pathItems: pathItems.all(),
    },
  }
}

interface Made {
  readonly parameters: Components<object>
  readonly headers: Components<object>
  readonly schemas: Components<JsonSchema>
  readonly responses: Components<object>
}

function parametersOf({ parameters }: Made, { key, compared, freshness }: RouteContract): Reference[] {
  const format = key.format === undefined ? '' : ` It matches /${key.format.pattern}/${key.format.flags}.`
  const variety = key.min_variety === undefined ? '' : ` It has at least ${key.min_variety} different characters.`
  const about = `Made once per operation, before the first attempt, and sent with every retry. ${key.text}${variety}${format}`
  const { header: name, required } = key
  const keyHeader = { name, in: 'header', required, description: about, schema: keySchema(key) }
  const others = [compared, freshness].flatMap((rule) => {
    if (rule?.header === undefined) return []
    const other = { name: rule.header, in: 'header', required: true, description: rule.text, schema: text }
    return [parameters.add(rule.header, other)]
  })
  return [parameters.add(name, keyHeader), ...others]
}

function acceptedOf({ headers, responses }: Made, { duplicates }: RouteContract): Record<string, Reference> {
  if (duplicates.mode !== 'accept') return {}
  const location = headers.add('Location', { description: 'Where to ask how the key stands.', schema: text })
  const response = {
    description: 'The first request with this key still runs.',
    headers: { Location: location, 'Retry-After': retryAfter(headers) },
  }
  return { [acceptedStatus]: responses.add(`Idempotency${acceptedStatus}`, response) }
}

function problemsOf(made: Made, { statuses, errors }: RouteContract, profile: Profile): Record<string, Reference> {
  const codes = Object.keys(statuses) as ErrorCode[]
  const told = codes.map((code) => ({ code, status: String(statuses[code]), value: problemOf(profile, code).example }))
  const schema = made.schemas.add('IdempotencyProblem', schemaOf(told.map(({ value }) => value)))
  const responses = [...new Set(told.map(({ status }) => status))].map((status) => {
    const among = told.filter((problem) => problem.status === status)
    const examples = among.map(({ code, value }) => [code, { summary: catalogue[code].summary, value }])
    const isRetryable = among.some(({ code }) => catalogue[code].retryable)
    const response = {
      description: among.map(({ code }) => `\`${code}\`: ${catalogue[code].summary}`).join('\n\n'),
      ...(isRetryable ? { headers: { 'Retry-After': retryAfter(made.headers) } } : {}),
      content: { [errors.media_type]: { schema, examples: Object.fromEntries(examples) } },
    }
    return [status, made.responses.add(`Idempotency${status}`, response)] as const
  })
  return Object.fromEntries(responses)
}

function answerHeaders({ headers }: Made, { replay, retention }: RouteContract): Record<string, Reference> {
  const marks = Object.entries(replay.marked_by).map(([name, value]) => {
    const mark = { description: 'On a replay only.', schema: { type: 'string', const: value } }
    return [name, headers.add(name, mark)] as const
  })
  if (retention.ms === null) return Object.fromEntries(marks)
  const expires = { description: 'When the key expires, as an HTTP date.', schema: text }
  return Object.fromEntries([...marks, [expiresHeader, headers.add(expiresHeader, expires)]])
}

const expiresHeader = 'Idempotency-Key-Expires'
const text = { type: 'string' } as const

function retryAfter(headers: Components<object>): Reference {
  const description = 'Seconds to wait before the same request is sent again.'
  return headers.add('Retry-After', { description, schema: { type: 'integer', minimum: 1 } })
}
