/**
 * How whoever ships something meets an order: he says no for good; he says for some time that he cannot yet, or says so always;
 * what he is sent ends the process that sends it, each time; for some time he cannot say what he has done, or denies it, against
 * what he has promised; or nobody can ask him.
 */
export const moods = [
  'declines',
  'is busy',
  'is closed',
  'ends who asks',
  'cannot say',
  'denies',
  'cannot be asked',
] as const

/**
 * And how he meets one that never comes right: he cannot ever say what he has done, or whoever asks him has no answer. These are
 * drawn by themselves: it takes days until somebody is told.
 */
export const lastingMoods = ['never says', 'never answers'] as const

/** One more is drawn apart from these: for some time he tells of what he has done in a way in which nobody can keep it. */
export type Mood = (typeof moods)[number] | (typeof lastingMoods)[number] | 'answers in no JSON'

export const isLasting = (mood: Mood | undefined): boolean => lastingMoods.some((lasting) => lasting === mood)

/** For so long some cannot yet, or cannot say: who comes when a lease is over may come too early as well. */
export const moodMs = 40_000

/** For so long it is tried with whoever is not always willing. */
export const triedMs = 5 * 60_000
export const tried = '5m'

/** An answer of the provider that nothing happened, and that nothing will. */
export class Declined extends Error {
  override readonly name = 'Declined'
}

/** An answer of the provider that nothing happened, and that something may later. */
export class Busy extends Error {
  override readonly name = 'Busy'
}

/** What these mean to whoever carries out effects. */
export function meaningOf(error: unknown): 'answered' | 'not_sent' | 'doubt' {
  if (error instanceof Declined) return 'answered'
  return error instanceof Busy ? 'not_sent' : 'doubt'
}
