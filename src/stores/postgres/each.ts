/** The same steps, each of them in somebody's care. */
export function each<Part extends Steps<Part>>(care: <T>(step: Promise<T>) => Promise<T>, part: Part): Part {
  const steps = Object.entries<(...given: never[]) => Promise<unknown>>(part)
  return Object.fromEntries(steps.map(([name, step]) => [name, (...given: never[]) => care(step(...given))])) as Part
}

type Steps<Part> = { readonly [K in keyof Part]: (...given: never[]) => Promise<unknown> }
