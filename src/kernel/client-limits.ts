/**
 * The defaults and bounds of the client. Apart from the others, none of which shall end up in a page, and each by itself: a
 * bundler puts a number where it stands, but carries the names of an object along.
 */

const second = 1_000
const minute = 60 * second

/** As long as a person waits, and long enough to ask once more about an unknown outcome. */
export const deadlineMs = minute

/** A handler that takes longer is not lost: the next attempt meets it in progress. Three of them fit in the deadline. */
export const attemptMs = 20 * second

/** Enough for a whole deadline of usual pauses. It ends only what comes back at once each time. */
export const attempts = 12

/** A conflict that gives no reason is the application's own when it still stands after so many attempts. */
export const bareConflicts = 3

/** Soon at first, since most failures pass. */
export const backoffFirstMs = 500

/** And not rarer than people look. */
export const backoffMaxMs = 10 * second

/** Retries that a client may have ahead: one operation in trouble may use up its attempts. */
export const budget = 12

/** And how many of them each operation earns: in an outage, load rises by a tenth and not tenfold. */
export const budgetShare = 0.1

/** Answers up to this length count only when they are here as a whole: as long as the server keeps them. */
export const answerBytes = 1024 * 1024

/** Keys that a caller chose and that are remembered, to notice that one is used for something else. */
export const chosenKeys = 1_000

/** What fits the column of every server seen so far. */
export const keyLength = 255
