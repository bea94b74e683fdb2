import type { Endpoint } from './endpoint.js'
import { endpoints } from './endpoints.js'
import { type Fields, schemaOf } from './fields.js'
import { refusals } from './refused.js'

/** The API as OpenAPI 3.1, made from what serves it. */
export function describeApi(path: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const endpoint of endpoints) {
    const place = `${path}${endpoint.path}`
    paths[place] = { ...paths[place], [endpoint.method.toLowerCase()]: operationOf(endpoint) }
  }
  paths[`${path}/events`] = { get: streamOperation }
  return {
    openapi: '3.1.0',
    info: { title: 'Hapax admin', version: '1', description: 'What operators do with idempotency keys.' },
    paths,
    components: { schemas: { Problem: problemSchema }, parameters: { IdempotencyKey: keyParameter } },
  }
}

function operationOf({ path, summary, permission, does, query, body }: Endpoint): object {
  const key = does === 'write' ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []
  const parameters = [...parametersOf(query ?? {}), ...key]
  return {
    operationId: path.slice(1).replaceAll(/[/-](\w)/g, (_, letter: string) => letter.toUpperCase()),
    summary,
    description: `Takes the permission ${permission}.`,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: objectOf(body) } } } }),
    responses: {
      200: { description: 'Done.', content: { 'application/json': { schema: { type: 'object' } } } },
      default: {
        description: 'Refused.',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  }
}

function parametersOf(fields: Fields): readonly object[] {
  return Object.entries(fields).map(([name, field]) => ({
    name,
    in: 'query',
    required: field.required === true,
    description: field.means,
    schema: schemaOf(field),
  }))
}

function objectOf(fields: Fields): object {
  const required = Object.keys(fields).filter((name) => fields[name]?.required === true)
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)]))
  return { type: 'object', additionalProperties: false, ...(required.length > 0 && { required }), properties }
}

const keyParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: true,
  description: 'Made once for each write: what is sent twice is done once.',
  schema: { type: 'string' },
}

const problemSchema = {
  type: 'object',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', description: `Of this API: ${Object.keys(refusals).join(', ')}. Or one of Hapax itself.` },
    detail: { type: 'string' },
    retryable: { type: 'boolean' },
    retry_after: { type: 'integer' },
  },
}

const streamOperation = {
  operationId: 'events',
  summary: 'Everything that happens, as server-sent events',
  description: 'Takes the permission read. A listener that is too slow is told how many events it has missed.',
  responses: { 200: { description: 'A stream.', content: { 'text/event-stream': { schema: { type: 'string' } } } } },
}
