/**
 * As much YAML as Prometheus reads its rules from: maps, lists, and texts, which stand in quotes unless they have lines.
 *
 * @param {unknown} value
 * @param {string} [indent]
 * @returns {string}
 */
export function yaml(value, indent = '') {
  if (Array.isArray(value)) return value.map((one) => `${indent}- ${yaml(one, `${indent}  `).trimStart()}`).join('\n')
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([name, inner]) => `${indent}${keyText(name)}:${innerText(inner, indent)}`)
      .join('\n')
  return scalar(value)
}

/** @param {unknown} value @param {string} indent */
function innerText(value, indent) {
  if (typeof value === 'string' && value.includes('\n'))
    return ` |-\n${value
      .split('\n')
      .map((line) => `${indent}  ${line}`)
      .join('\n')}`
  if (typeof value !== 'object' || value === null) return ` ${scalar(value)}`
  if (Object.keys(value).length === 0) return Array.isArray(value) ? ' []' : ' {}'
  return `\n${yaml(value, `${indent}  `)}`
}

/** @param {string} name */
function keyText(name) {
  return /^[a-z_]+$/i.test(name) ? name : JSON.stringify(name)
}

/** @param {unknown} value */
function scalar(value) {
  return typeof value === 'string' && !/^[a-z][a-z0-9 ./_-]*[a-z0-9]$/i.test(value)
    ? JSON.stringify(value)
    : String(value)
}
