import type { OpenApiOperation } from 'hapax'
import type { Asks, Body, Described } from './described.js'
import { type Responses, responsesOf } from './responses.js'
import type { Told } from './told.js'

interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly responses: Responses
  readonly [member: string]: unknown
}

export function operationOf(told: Told): Operation {
  const { system, route, described, guard } = told
  const { summary, body, asks = system.asks } = described
  const parameters = [...pathParameters(route), ...queryParameters(described), ...headerParameters(described)]
  const all = [...parameters, ...(guard?.parameters ?? [])]
  return {
    operationId: described.guardedAs ?? operationIdOf(route),
    tags: [system.name],
    summary,
    ...(guard !== undefined && { description: promiseOf(guard) }),
    ...(all.length > 0 && { parameters: all }),
    ...(body !== undefined && { requestBody: bodyOf(body) }),
    responses: responsesOf(told, asks),
    security: security[asks],
    ...(guard !== undefined && { 'x-idempotency': guard['x-idempotency'] }),
  }
}

const security: Readonly<Record<Asks, readonly object[]>> = {
  token: [{ token: [] }],
  'token or basic': [{ token: [] }, { basic: [] }],
  anybody: [],
}

function promiseOf({ 'x-idempotency': { retention, compared, replay } }: OpenApiOperation): string {
  const kept = retention.ms === null ? 'for ever' : `for ${retention.text}`
  return `Safe to retry with the same key: the answer is kept ${kept}. ${compared.text} ${replay.text}`
}

/** `GET /orders/{id}/escrow` is `get.orders.id.escrow`. */
function operationIdOf(route: string): string {
  return route
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '.')
    .replaceAll(/^\.|\.$/g, '')
}

function pathParameters(route: string): object[] {
  const names = [...route.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  return names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string', pattern: '^[\\w-]+$' } }))
}

function queryParameters({ paged, query = {} }: Described): object[] {
  const paging = [
    { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 } },
    { name: 'after', in: 'query', description: 'The `next` of the page before.', schema: { type: 'string' } },
  ]
  const others = Object.entries(query).map(([name, description]) => ({
    name,
    in: 'query',
    description,
    schema: { type: 'string' },
  }))
  return [...(paged === true ? paging : []), ...others]
}

function headerParameters({ headers = {} }: Described): object[] {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
  }))
}

function bodyOf({ schema, mediaTypes = ['application/json'], optional, example }: Body): object {
  const content = { schema, ...(example !== undefined && { example }) }
  return {
    required: optional !== true,
    content: Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, content])),
  }
}
