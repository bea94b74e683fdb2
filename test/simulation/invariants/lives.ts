import type { RecordChange } from './records.js'

/** How often each key has been forgotten for good: after its tombstone it is a new one, with its first generation again. */
export interface KeyLives {
  note(change: RecordChange): void
  /** Of `tenant/key`. */
  of(name: string): number
  toJSON(): unknown
}

export function keyLives(): KeyLives {
  const lives = new Map<string, number>()
  const of = (name: string) => lives.get(name) ?? 0
  return {
    of,
    toJSON: () => [...lives],
    note({ before, after }) {
      if (before?.state !== 'expired' || after !== undefined) return
      const name = `${before.scope}/${before.key}`
      lives.set(name, of(name) + 1)
    },
  }
}

/** What is wanted once for each subject, in each life of its key. */
interface Wanted {
  readonly service: string | { readonly name: string }
  readonly subject: string
}

/** Looks at what was added since the last time, and tells how often the same was there before. */
export function oncePerLife<T extends Wanted>(lives: KeyLives, all: readonly T[]) {
  const counts = new Map<string, number>()
  const livesOf: number[] = []
  const lifeOf = ({ subject }: Wanted) => lives.of(subject.slice(0, subject.lastIndexOf('#')))

  return {
    next(): readonly { readonly one: T; readonly earlier: number }[] {
      // Asked at every step, and nearly always nothing is new.
      if (livesOf.length === all.length) return []
      const added: { readonly one: T; readonly earlier: number }[] = []
      for (let one = all[livesOf.length]; one !== undefined; one = all[livesOf.length]) {
        const { service, subject } = one
        const name = `${lifeOf(one)} ${typeof service === 'string' ? service : service.name} ${subject}`
        const earlier = counts.get(name) ?? 0
        counts.set(name, earlier + 1)
        livesOf.push(lifeOf(one))
        added.push({ one, earlier })
      }
      return added
    },
    /** Those of the lives that their keys have now. */
    ofThisLife: (): readonly T[] => all.filter((one, index) => livesOf[index] === lifeOf(one)),
  }
}
