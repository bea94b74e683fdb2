import type { RecordName } from './record.js'

/** One of those who come with the same key at the same time. */
export interface Joined {
  /** Lets the key in, once for all who have joined, or throws why not. */
  admit(): Promise<void>
  /** To be called in the end, however it ended. */
  leave(): void
}

export interface Together {
  join(name: RecordName, admit: () => Promise<void>): Joined
}

/**
 * Duplicates of a key that is new are all told that it is, until the first of them has taken it. They are one key, and so
 * they take one place in a quota. Whoever joins before he asks whether the key is new, and leaves after he has taken it,
 * has either met all who were told the same, or is told that the key is known.
 */
export function together(): Together {
  const crowds = new Map<string, Crowd>()
  return {
    join(name, admit) {
      const id = `${name.scope}\n${name.key}`
      const crowd = crowds.get(id) ?? { joined: 0, admitting: undefined }
      crowds.set(id, crowd)
      crowd.joined++
      return {
        admit() {
          crowd.admitting ??= admit().catch((refusal: unknown) => {
            // It holds for those who wait for it, and not for those who come later.
            crowd.admitting = undefined
            throw refusal
          })
          return crowd.admitting
        },
        leave() {
          crowd.joined--
          if (crowd.joined === 0) crowds.delete(id)
        },
      }
    },
  }
}

interface Crowd {
  joined: number
  admitting: Promise<void> | undefined
}
