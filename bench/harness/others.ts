import { processorTicks, type Ticks } from './processor-ticks.js'

/** Whoever is there for so long has changed what was measured meanwhile. */
const sliceMs = 10_000

/**
 * Begins to watch what others take of this machine. What that gives ends it, and tells how much of all cores they had in their
 * busiest ten seconds; `undefined` where nobody can say.
 */
export function watchOthers(read: () => Ticks | undefined = processorTicks): () => number | undefined {
  const looks = [read()]
  const timer = setInterval(() => looks.push(read()), sliceMs).unref()
  return () => {
    clearInterval(timer)
    // A few ticks say nothing: what is left at the end belongs to the slice before it.
    if (looks.length > 1) looks.pop()
    looks.push(read())
    return busiest(looks.filter((look) => look !== undefined))
  }
}

function busiest(looks: readonly Ticks[]): number | undefined {
  const shares = looks.slice(1).map((now, at) => shareOfOthers(looks[at] as Ticks, now))
  return shares.length === 0 ? undefined : Math.max(...shares)
}

/** Ticks are counted in two ways, which need not agree to the last one. */
function shareOfOthers(before: Ticks, now: Ticks): number {
  const all = Math.max(1, now.all - before.all)
  const others = now.busy - before.busy - (now.own - before.own)
  return Number((Math.max(0, others) / all).toFixed(2))
}
