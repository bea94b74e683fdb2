import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import type { Answer } from './payment-client.js'

/** As much of an OpenAPI document as is looked at. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly $ref?: string }[]
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>
  readonly 'x-idempotency'?: object
}

interface Response {
  readonly content: Readonly<Record<string, { readonly schema: object }>>
}

/** Holds answers against a document. */
export interface Documented {
  /** Fails unless the status, the media type and the body are those of the document. */
  check(method: string, url: string, answer: Answer): void
  /** Whether a key fits the schema of an operation. */
  accepts(path: string, key: string): boolean
}

export function documented(document: OpenApi): Documented {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'api', ...document })
  const schemaAt = (...path: readonly string[]): ValidateFunction => {
    const pointer = path.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
    const schema = ajv.getSchema(`api#/${pointer}`)
    if (schema === undefined) throw new Error(`There is nothing at ${pointer}.`)
    return schema
  }
  const operationAt = (method: string, path: string): Operation => {
    const operation = document.paths[path]?.[method.toLowerCase()]
    if (operation === undefined) throw new Error(`${method} ${path} is not described.`)
    return operation
  }

  return {
    check(method, url, { status, headers, json }) {
      const path = pathOf(document, url)
      const { responses } = operationAt(method, path)
      const told = `${status}` in responses ? `${status}` : 'default'
      const response = responses[told]
      expect(response, `${method} ${path} may answer ${status}`).toBeDefined()
      const mediaType = headers.get('content-type')?.split(';')[0] ?? ''
      const place =
        response !== undefined && '$ref' in response
          ? response.$ref.split('/').slice(1)
          : ['paths', path, method.toLowerCase(), 'responses', told]
      const validate = schemaAt(...place, 'content', mediaType, 'schema')
      expect(validate(json) ? [] : validate.errors, `${method} ${path}: ${status} ${JSON.stringify(json)}`).toEqual([])
    },

    accepts(path, key) {
      const parameters = operationAt('POST', path).parameters ?? []
      const name = parameters.map(({ $ref = '' }) => /\/(Idempotency-Key[^/]*)$/.exec($ref)?.[1]).find(Boolean)
      return schemaAt('components', 'parameters', String(name), 'schema')(key) === true
    },
  }
}

/** Which of the documented paths an address is. */
function pathOf({ paths }: OpenApi, url: string): string {
  const [asked = ''] = url.split('?')
  if (asked in paths) return asked
  const fits = (path: string) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(asked)
  const found = Object.keys(paths).find(fits)
  if (found === undefined) throw new Error(`${asked} is not described.`)
  return found
}
