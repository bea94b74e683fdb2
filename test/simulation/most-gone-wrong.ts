import { type Budget, kinds } from './world/faults.js'

/** How much has gone wrong in the schedules of a scenario: of one that may not go wrong as it says nothing is shown. */
export interface MostGoneWrong {
  /** What went wrong in one of them. */
  note(taken: Readonly<Required<Budget>>): void
  /** What they lack, in words. */
  missing(): readonly string[]
}

export function mostGoneWrong(budget: Budget): MostGoneWrong {
  const allowed = kinds.filter((kind) => (budget[kind] ?? 0) > 0)
  const isAll = (kind: keyof Budget, count: number) => count >= (budget[kind] ?? 0)
  const most = new Map<keyof Budget, number>()
  let isTogether = false

  return {
    note(taken) {
      for (const kind of allowed) most.set(kind, Math.max(most.get(kind) ?? 0, taken[kind]))
      isTogether ||= allowed.every((kind) => isAll(kind, taken[kind]))
    },
    missing() {
      const lacking = allowed.filter((kind) => !isAll(kind, most.get(kind) ?? 0))
      if (lacking.length > 0) return lacking.map((kind) => inWords(kind, budget[kind] ?? 0))
      return isTogether ? [] : ['all of that at once']
    },
  }
}

function inWords(kind: keyof Budget, count: number): string {
  const [one, many] = words[kind]
  return count === 1 ? one : `${numbers[count] ?? count} ${many}`
}

const numbers: readonly (string | undefined)[] = [undefined, undefined, 'two', 'three', 'four']

const words: Readonly<Record<keyof Budget, readonly [one: string, many: string]>> = {
  breaks: ['a broken line', 'broken lines'],
  drifts: ['a request that arrives after its line broke', 'requests that arrive after their lines broke'],
  cancels: ['a cancelled statement', 'cancelled statements'],
  crashes: ['a crash', 'crashes'],
  lateness: ['a late reply', 'late replies'],
  freezes: ['a stopped process', 'stopped processes'],
  jumps: ['a clock that jumps', 'clocks that jump'],
  haste: ['a time that passes although something could happen', 'times that pass although something could happen'],
}
