import type { RouteContract } from './contract-data.js'

/** As much of JSON Schema as is needed here. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly minimum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

/** The schema of the field value, which for a quoted key is longer than the key. */
export function keySchema(key: RouteContract['key']): JsonSchema {
  switch (key.syntax) {
    case 'raw':
      return plain(key, '^[ -~]*$')
    case 'string':
      return quoted(key)
    case 'lenient':
      return { anyOf: [plain(key, '^[!#-+\\--~][!-+\\--~]*$'), quoted(key)] }
  }
}

/** A pattern has no flags in JSON Schema. A format that needs them is told in words only. */
function plain({ min_length, max_length, format }: RouteContract['key'], otherwise: string): JsonSchema {
  const bounds = { type: 'string', minLength: min_length, maxLength: max_length }
  if (format === undefined) return { ...bounds, pattern: otherwise }
  return format.flags === '' ? { ...bounds, pattern: format.pattern } : bounds
}

/** Counts the characters between the quotes, an escaped one once. Parameters may follow. */
function quoted({ min_length, max_length }: RouteContract['key']): JsonSchema {
  const character = '(?:[ !#-\\[\\]-~]|\\\\["\\\\])'
  return { type: 'string', pattern: `^"${character}{${min_length},${max_length}}"[ \\t]*(?:;.*)?$` }
}

/** What all the samples have in common: a member that only some of them have is not required. */
export function schemaOf(samples: readonly unknown[]): JsonSchema {
  const types = [...new Set(samples.map(typeOf))]
  const [type = 'object'] = types
  if (types.length > 1) return { type: types }
  if (type !== 'object') return { type }
  const objects = samples as readonly Readonly<Record<string, unknown>>[]
  const names = [...new Set(objects.flatMap((sample) => Object.keys(sample)))]
  const having = (name: string) => objects.filter((sample) => Object.hasOwn(sample, name))
  return {
    type,
    properties: Object.fromEntries(names.map((name) => [name, schemaOf(having(name).map((sample) => sample[name]))])),
    required: names.filter((name) => having(name).length === objects.length),
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}
