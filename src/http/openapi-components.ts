/** One part of the components of an OpenAPI description, while it is made. */
export interface Components<T> {
  /** What was added before is not added twice, and nothing takes another's name. */
  add(wanted: string, component: T): Reference
  all(): Readonly<Record<string, T>>
}

export interface Reference {
  readonly $ref: string
}

export function components<T extends object>(kind: string): Components<T> {
  const all = new Map<string, T>()
  return {
    add(wanted, component) {
      const base = wanted.replaceAll(/[^A-Za-z0-9._-]/g, '_')
      const text = JSON.stringify(component)
      const isTaken = (name: string) => all.has(name) && JSON.stringify(all.get(name)) !== text
      let name = base
      for (let count = 2; isTaken(name); count++) name = `${base}-${count}`
      all.set(name, component)
      return { $ref: `#/components/${kind}/${name}` }
    },
    all: () => Object.fromEntries(all),
  }
}
