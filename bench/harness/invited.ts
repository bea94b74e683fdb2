/** Somebody who takes part if he can be had, and else the reason why not. */
export interface Invited<Guest> {
  /** None or one. */
  readonly guests: readonly Guest[]
  readonly remarks: readonly string[]
}

/** A bench goes on without those who cannot be had here. */
export async function invited<Guest>(name: string, start: Promise<Guest>): Promise<Invited<Guest>> {
  try {
    return { guests: [await start], remarks: [] }
  } catch (error) {
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n')
    return { guests: [], remarks: [`${name} did not take part: ${reason}`] }
  }
}
