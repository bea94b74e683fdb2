/** Lists that several may add to: what an application has set before, such as its CORS, stays beside what a reply adds. */
const lists = new Set(['access-control-expose-headers', 'vary'])

/** Whether a header of a reply joins what was set before it, and does not take its place. */
export function isAdded(name: string): boolean {
  return lists.has(name.toLowerCase())
}
