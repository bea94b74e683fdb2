import { contractOf, type Engine, engine, keyFormats, type OpenApiFragment, openApiOf, profiles } from 'hapax'
import { guard } from 'hapax/fetch'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'

type Options = Partial<Parameters<typeof guard>[1]>

function given(...routes: Options[]): Engine<never> {
  const hapax: Engine<never> = engine({ store: memoryStore(), log: () => {} })
  for (const options of routes)
    guard(hapax, { name: 'payments.create', scope: () => 'acme', ...options }, () => new Response())
  return hapax
}

/** An API in which everything occurs at least once. */
const rich = () =>
  given(
    {},
    { name: 'payments.create', methods: ['PUT'], concurrency: 'accept', statusAt: '/idempotency/key' },
    { name: 'orders / create', profile: profiles.marketplace, key: 'optional', keyRules: { format: keyFormats.uuid } },
    { name: 'charges.create', profile: profiles.stripe, retention: 'forever' },
    { name: 'refunds.create', profile: profiles.finastra, currentState: () => undefined, concurrency: 'wait' },
    { name: 'moves.create', profile: profiles.boundary, fingerprint: { strategy: { kind: 'header', name: 'digest' } } },
  )

/** Every `$ref` in a value. */
function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === '$ref' && typeof member === 'string' ? [member] : references(member),
  )
}

function resolved(fragment: OpenApiFragment, reference: string): unknown {
  const names = reference.replace(/^#\//, '').split('/')
  return names.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], fragment)
}

/** What stands behind a reference. */
function at(fragment: OpenApiFragment, { $ref }: { readonly $ref: string }): Record<string, object> {
  return resolved(fragment, $ref) as Record<string, object>
}

/** Whether a schema of ours lets a text through. */
interface Schema {
  readonly anyOf?: readonly Schema[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
}
function takes(schema: Schema, text: string): boolean {
  if (schema.anyOf !== undefined) return schema.anyOf.some((one) => takes(one, text))
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern = '' } = schema
  return text.length >= minLength && text.length <= maxLength && new RegExp(pattern, 'u').test(text)
}

function keySchema(options: Options): Schema {
  const fragment = openApiOf(given(options))
  const [parameter = {}] = Object.values(fragment.components.parameters)
  return (parameter as { schema: Schema }).schema
}

describe('the OpenAPI fragment', () => {
  test('has no reference that leads nowhere, and no component that nothing leads to', () => {
    const fragment = openApiOf(rich())
    const found = [...new Set(references(fragment))]
    expect(found.length).toBeGreaterThan(20)
    for (const reference of found) expect(resolved(fragment, reference), reference).toBeTypeOf('object')
    const { pathItems, ...others } = fragment.components
    const made = Object.entries(others).flatMap(([kind, all]) =>
      Object.keys(all).map((name) => `#/components/${kind}/${name}`),
    )
    expect(found.sort()).toEqual(made.sort())
  })

  test('is a description of OpenAPI 3.1 by itself', () => {
    const { openapi, info, components } = openApiOf(rich())
    expect(openapi).toMatch(/^3\.1\.\d+$/)
    expect(info).toEqual({ title: expect.any(String), version: expect.any(String) })
    for (const all of Object.values(components))
      for (const name of Object.keys(all)) expect(name).toMatch(/^[a-zA-Z0-9._-]+$/)
    for (const parameter of Object.values(components.parameters))
      expect(parameter).toMatchObject({ in: 'header', name: expect.any(String), schema: expect.any(Object) })
    for (const header of Object.values(components.headers)) expect(header).toMatchObject({ schema: expect.any(Object) })
    for (const response of Object.values(components.responses))
      expect(response).toMatchObject({ description: expect.stringMatching(/./) })
  })

  test('says for each operation exactly the statuses that the contract says', () => {
    const hapax = rich()
    const { pathItems } = openApiOf(hapax).components
    const said = Object.values(pathItems).flatMap((item) =>
      Object.entries(item).map(([method, { responses }]) => [method, Object.keys(responses).map(Number)]),
    )
    const contract = contractOf(hapax).routes.flatMap(({ methods, statuses, duplicates }) => {
      const all = [...new Set(Object.values(statuses)), ...(duplicates.mode === 'accept' ? [202] : [])]
      return methods.map((method) => [method.toLowerCase(), all.sort()])
    })
    expect(said).toEqual(contract)
  })

  test('keeps both of two routes of one name', () => {
    const { pathItems } = openApiOf(rich()).components
    expect(Object.keys(pathItems['payments.create'] ?? {})).toEqual(['post', 'patch'])
    expect(Object.keys(pathItems['payments.create-2'] ?? {})).toEqual(['put'])
    expect(pathItems).toHaveProperty(['orders___create'])
  })

  test('says once what routes have in common', () => {
    const { parameters, schemas, responses } = openApiOf(given({}, { name: 'refunds.create' })).components
    expect(Object.keys(parameters)).toEqual(['Idempotency-Key'])
    expect(Object.keys(schemas)).toEqual(['IdempotencyProblem'])
    for (const name of Object.keys(responses)) expect(name).toMatch(/^Idempotency\d{3}$/)
  })

  test('shows each error as it is sent, in a schema that fits it', () => {
    const fragment = openApiOf(given({ profile: profiles.marketplace }))
    const operation = fragment.components.pathItems['payments.create']?.post
    const { content } = at(fragment, operation?.responses['409'] ?? { $ref: '' }) as {
      content: Record<string, { schema: { $ref: string }; examples: Record<string, { value: unknown }> }>
    }
    const { schema, examples } = content['application/json'] ?? { schema: { $ref: '' }, examples: {} }
    expect(examples.idempotency_key_in_progress?.value).toEqual({
      error: { code: 'IDEMPOTENCY_KEY_IN_PROGRESS', message: 'A request with this key is still being processed' },
    })
    expect(at(fragment, schema)).toEqual({
      type: 'object',
      properties: {
        error: {
          type: 'object',
          properties: { code: { type: 'string' }, message: { type: 'string' } },
          required: ['code', 'message'],
        },
      },
      required: ['error'],
    })
  })

  test('requires of a problem what all problems have, and leaves the rest open', () => {
    const { schemas } = openApiOf(given({})).components
    expect(schemas.IdempotencyProblem?.required).toEqual(['type', 'title', 'status', 'detail', 'code', 'retryable'])
    expect(schemas.IdempotencyProblem?.properties).toHaveProperty('retry_after', { type: 'integer' })
  })

  test('names the headers of an answer, of a refusal that passes, and of one that was accepted', () => {
    const fragment = openApiOf(rich())
    const of = (name: string, method: string) => fragment.components.pathItems[name]?.[method]
    expect(Object.keys(of('payments.create', 'post')?.['x-idempotency'].answer_headers ?? {})).toEqual([
      'Idempotent-Replayed',
      'Idempotency-Key-Expires',
    ])
    const forever = of('charges.create', 'post')?.['x-idempotency'].answer_headers ?? {}
    expect(forever).not.toHaveProperty('Idempotency-Key-Expires')
    const accepted = at(fragment, of('payments.create-2', 'put')?.responses['202'] ?? { $ref: '' })
    expect(Object.keys(accepted.headers ?? {})).toEqual(['Location', 'Retry-After'])
    const refused = at(fragment, of('payments.create', 'post')?.responses['409'] ?? { $ref: '' })
    expect(Object.keys(refused.headers ?? {})).toEqual(['Retry-After'])
    const wrong = at(fragment, of('payments.create', 'post')?.responses['422'] ?? { $ref: '' })
    expect(wrong).not.toHaveProperty('headers')
  })

  test('asks for the headers that a route goes by beside the key', () => {
    const fragment = openApiOf(
      given({
        fingerprint: { strategy: { kind: 'header', name: 'digest' } },
        freshness: { by: 'header', name: 'first-sent' },
      }),
    )
    const parameters = fragment.components.pathItems['payments.create']?.post?.parameters ?? []
    const names = parameters.map((parameter) => at(fragment, parameter))
    expect(names).toMatchObject([
      { name: 'Idempotency-Key', required: true },
      { name: 'Digest', required: true },
      { name: 'First-Sent', required: true },
    ])
  })
})

describe('the schema of a key', () => {
  const uuid = '8e03978e-40d5-43dd-bc93-6894a57f9324'
  const cases: [syntax: 'lenient' | 'string' | 'raw', text: string, isTaken: boolean][] = [
    ['lenient', uuid, true],
    ['lenient', `"${uuid}"`, true],
    ['lenient', '"with space, and \\" quote"', true],
    ['lenient', 'two, keys', false],
    ['lenient', 'ä', false],
    ['lenient', '', false],
    ['lenient', '""', false],
    ['lenient', 'x'.repeat(255), true],
    ['lenient', 'x'.repeat(256), false],
    ['lenient', `"${'x'.repeat(255)}"`, true],
    ['lenient', `"${'x'.repeat(256)}"`, false],
    ['string', `"${uuid}"`, true],
    ['string', `"${'\\"'.repeat(255)}";a=1`, true],
    ['string', uuid, false],
    ['string', '"half', false],
    ['raw', '"half', true],
    ['raw', 'a b', true],
    ['raw', 'ä', false],
  ]
  test.each(cases)('in %s syntax, for %j, says %s', (syntax, text, isTaken) => {
    expect(takes(keySchema({ keyRules: { syntax } }), text)).toBe(isTaken)
  })

  test('has the lengths and the format of the route', () => {
    const schema = keySchema({ keyRules: { syntax: 'raw', minLength: 16, maxLength: 20, format: /^[a-z]+$/ } })
    expect(schema).toEqual({ type: 'string', minLength: 16, maxLength: 20, pattern: '^[a-z]+$' })
  })

  test('leaves the variety of a key, which no schema can count, to the description', () => {
    const { parameters } = openApiOf(given({ keyRules: { minVariety: 8 } })).components
    expect(parameters['Idempotency-Key']).toMatchObject({
      description: expect.stringContaining('8 different characters'),
    })
  })

  test('leaves a format with flags, which no schema can hold, to the description', () => {
    const { parameters } = openApiOf(given({ keyRules: { syntax: 'raw', format: keyFormats.uuid } })).components
    const { description, schema } = parameters['Idempotency-Key'] as { description: string; schema: Schema }
    expect(description).toContain(String(keyFormats.uuid))
    expect(schema).toEqual({ type: 'string', minLength: 1, maxLength: 255 })
  })
})
