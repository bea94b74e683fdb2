/** A value as text: the same for all that are equal, whatever the order of their members or the kind of their bytes. */
export function canonical(value: unknown): string {
  if (value instanceof Uint8Array) return `<${Buffer.from(value).toString('base64')}>`
  if (value instanceof Error) return `!${'code' in value ? value.code : value.message}`
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, inner]) => `${name}:${canonical(inner)}`).join()}}`
}
