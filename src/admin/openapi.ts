import type { Endpoint } from './endpoint.js'
import { endpoints } from './endpoints.js'
import { type Fields, schemaOf } from './fields.js'
import { refusals } from './refused.js'
import { schemas } from './schemas.js'

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
    components: {
      schemas: { ...schemas, Problem: problemSchema },
      parameters: { IdempotencyKey: keyParameter },
      securitySchemes: { operator: operatorScheme },
    },
    security: [{ operator: [] }],
  }
}

function operationOf({ path, summary, permission, does, gives, query, body }: Endpoint): object {
  const key = does === 'write' ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []
  const parameters = [...parametersOf(query ?? {}), ...key]
  return {
    operationId: path.slice(1).replaceAll(/[/-](\w)/g, (_, letter: string) => letter.toUpperCase()),
    summary,
    description: `Takes the permission ${permission}.`,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: objectOf(body) } } } }),
    responses: {
      200: {
        description: does === 'write' ? 'Done, and written down.' : 'Shown.',
        content: { 'application/json': { schema: { $ref: `#/components/schemas/${gives}` } } },
      },
      default: refusedResponse,
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

/** It is for the application to say whom it lets in; the command line sends a token. */
const operatorScheme = {
  type: 'http',
  scheme: 'bearer',
  description:
    'Whatever the authorize function of the application takes; hapax on the command line sends HAPAX_ADMIN_TOKEN.',
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

const refusedResponse = {
  description: 'Refused.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

const streamOperation = {
  operationId: 'events',
  summary: 'Everything that happens, as server-sent events',
  description:
    'Takes the permission read. Each event has an id and, as data, a JSON object. A listener that is too slow is told how many it has missed (missed, with events); one that comes back with a Last-Event-ID, that it has missed what happened since (missed, with since): events are not kept.',
  parameters: [
    {
      name: 'Last-Event-ID',
      in: 'header',
      required: false,
      description: 'The last that was heard, as browsers send it when they come back.',
      schema: { type: 'string' },
    },
  ],
  responses: {
    200: { description: 'A stream.', content: { 'text/event-stream': { schema: { type: 'string' } } } },
    default: refusedResponse,
  },
}
