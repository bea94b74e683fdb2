/** How many steps are under way. */
export interface Tally {
  /** Gives what to call when the step has ended. */
  begin(): () => void
  /** Resolves when all that have begun by now are over, whatever begins meanwhile. */
  over(): Promise<void>
}

/** Numbers, and not a Set of them: what a Set has forgotten may live on in it (docs/internals/decisions/0034). */
export function tally(): Tally {
  let shift = newShift()
  let before = Promise.resolve()
  return {
    begin: () => shift.begin(),
    over() {
      before = Promise.all([before, shift.over()]).then(nothing)
      shift = newShift()
      return before
    },
  }
}

/** Those that begin between two who ask whether all are over. */
function newShift() {
  let count = 0
  let hear = nothing
  const end = () => {
    count -= 1
    if (count === 0) hear()
  }
  return {
    begin() {
      count += 1
      return end
    },
    over: (): Promise<void> =>
      new Promise((resolve) => {
        if (count === 0) resolve()
        else hear = resolve
      }),
  }
}

function nothing(): void {}
