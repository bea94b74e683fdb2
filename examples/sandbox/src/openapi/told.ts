import type { OpenApiFragment, OpenApiOperation } from 'hapax'
import type { Described, System } from './described.js'

/** One operation, as its system describes it and as its guard does. */
export interface Told {
  readonly system: System
  readonly route: string
  readonly described: Described
  /** `undefined` where it is not guarded. */
  readonly guard: OpenApiOperation | undefined
  /** What the guard refers to. */
  readonly responses: OpenApiFragment['components']['responses']
}
