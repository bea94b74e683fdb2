import type { Ending } from './carrying.js'
import type { Held } from './held.js'

/** Those who carry effects out: so many at once, the others wait for their turn. */
export interface Crew {
  /** Resolves when the effect has ended. */
  take(held: Held): Promise<Ending>
  /** Sends away those whose turn has not come. */
  dismiss(): readonly Held[]
}

export function crew(concurrency: number, carryOut: (held: Held) => Promise<Ending>): Crew {
  let waiting: { readonly held: Held; readonly start: () => void; readonly leave: () => void }[] = []
  let running = 0

  async function run(held: Held): Promise<Ending> {
    running++
    try {
      return await carryOut(held)
    } finally {
      running--
      waiting.shift()?.start()
    }
  }

  return {
    take(held) {
      if (running < concurrency) return run(held)
      return new Promise((resolve, reject) => {
        const start = () => void run(held).then(resolve, reject)
        waiting.push({ held, start, leave: () => resolve('release') })
      })
    },
    dismiss() {
      const dismissed = waiting
      waiting = []
      for (const { leave } of dismissed) leave()
      return dismissed.map(({ held }) => held)
    },
  }
}
