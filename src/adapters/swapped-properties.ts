/** Own properties of an object; `undefined` where it has none of its own. */
export type OwnProperties = Readonly<Record<string, PropertyDescriptor | undefined>>

/** Gives an object these properties, and gives back what it had in their place: given in again, that undoes it. */
export function swapped(target: object, properties: OwnProperties): OwnProperties {
  const names = Object.keys(properties)
  const before = names.map((name) => [name, Object.getOwnPropertyDescriptor(target, name)] as const)
  for (const name of names) {
    const property = properties[name]
    if (property === undefined) Reflect.deleteProperty(target, name)
    else Object.defineProperty(target, name, property)
  }
  return Object.fromEntries(before)
}

/** A method that others may wrap, as they wrap any other. */
export function method(value: (...given: unknown[]) => unknown): PropertyDescriptor {
  return { configurable: true, writable: true, value }
}

export function accessor(get: () => unknown, set: (value: unknown) => void = () => {}): PropertyDescriptor {
  return { configurable: true, get, set }
}
