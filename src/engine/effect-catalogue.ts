/** What the engine knows of the effects that an application has: enough to write one down. */
export interface EffectCatalogue {
  has(kind: string): boolean
  /** Effects with the same order are carried out one after another; `undefined`: in any order. */
  orderOf(kind: string, payload: unknown): string | undefined
}
