import type { Held } from './held.js'

/** Those who carry effects out: so many at once, the others wait for their turn. */
export interface Crew {
  /** Nothing when its turn is now. Whoever enters leaves, save one that is sent away. */
  enter(held: Held): Promise<'entered' | 'sent away'> | undefined
  leave(): void
  /** Sends away those whose turn has not come. */
  dismiss(): readonly Held[]
}

export function crew(concurrency: number): Crew {
  let waiting: { readonly held: Held; readonly tell: (turn: 'entered' | 'sent away') => void }[] = []
  let inside = 0

  return {
    enter(held) {
      if (inside >= concurrency) return new Promise((tell) => waiting.push({ held, tell }))
      inside++
      return undefined
    },
    leave() {
      // Whoever comes next takes the place.
      const next = waiting.shift()
      if (next === undefined) inside--
      else next.tell('entered')
    },
    dismiss() {
      const dismissed = waiting
      waiting = []
      for (const { tell } of dismissed) tell('sent away')
      return dismissed.map(({ held }) => held)
    },
  }
}
