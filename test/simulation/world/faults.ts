import type { PortCall } from './port-call.js'

/** What may go wrong with a call; `none` is what usually happens. `haste` is about time: it passes while something waits. */
export type Fault =
  | 'none'
  | 'break_before'
  | 'break_after'
  | 'crash_before'
  | 'crash_after'
  | 'crash_meanwhile'
  | 'late_reply'
  | 'freeze'
  | 'clock_jump'
  | 'wall_jump'
  | 'haste'

/** How often each kind of fault may still happen. */
export interface Budget {
  /** A line breaks: the request or the reply is lost. */
  readonly breaks?: number
  /** A process ends, before, after or while what it asked for happens. */
  readonly crashes?: number
  /** A reply is on its way for as long as it likes. */
  readonly lateness?: number
  /** A process is stopped for longer than its lease. */
  readonly freezes?: number
  /** The database's clock jumps ahead by more than a lease, or that of a node goes back. */
  readonly jumps?: number
  /** Time passes although something is ready to happen. */
  readonly haste?: number
}

const kindOf = {
  none: undefined,
  break_before: 'breaks',
  break_after: 'breaks',
  crash_before: 'crashes',
  crash_after: 'crashes',
  crash_meanwhile: 'crashes',
  late_reply: 'lateness',
  freeze: 'freezes',
  clock_jump: 'jumps',
  wall_jump: 'jumps',
  haste: 'haste',
} as const satisfies Readonly<Record<Fault, keyof Budget | undefined>>

export interface Faults {
  left(fault: Fault): number
  take(fault: Fault): void
  /** From here on everything goes well. */
  end(): void
}

export function faultsOf(budget: Budget): Faults & { readonly budget: Budget } {
  const left: { -readonly [Kind in keyof Budget]: Budget[Kind] } = { ...budget }
  return {
    budget: left,
    left(fault) {
      const kind = kindOf[fault]
      return kind === undefined ? Number.POSITIVE_INFINITY : (left[kind] ?? 0)
    },
    take(fault) {
      const kind = kindOf[fault]
      if (kind !== undefined) left[kind] = (left[kind] ?? 0) - 1
    },
    end() {
      for (const kind of Object.keys(left)) left[kind as keyof Budget] = 0
    },
  }
}

/** The ways in which this call may end, the usual one first. */
export function faultsFor({ process, port, broken }: PortCall<unknown>, faults: Faults): readonly Fault[] {
  // Asked at every step: nothing is made here but the list.
  const ways: Fault[] = ['none']
  if (broken !== undefined) {
    if (faults.left('break_before') > 0) ways.push('break_before', 'break_after')
    if (faults.left('late_reply') > 0) ways.push('late_reply')
  }
  if (process.kind === 'node') {
    if (faults.left('crash_before') > 0) {
      ways.push('crash_before', 'crash_after')
      if (port !== 'agenda' && broken !== undefined) ways.push('crash_meanwhile')
    }
    if (faults.left('freeze') > 0) ways.push('freeze')
    if (faults.left('wall_jump') > 0) ways.push('wall_jump')
  }
  if (port === 'store' && faults.left('clock_jump') > 0) ways.push('clock_jump')
  return ways
}

/** What happened, in words. */
export function words(call: Pick<PortCall<unknown>, 'words' | 'process'>, fault: Fault): string {
  const { name } = call.process
  const usual = call.words()
  switch (fault) {
    case 'none':
      return usual
    case 'break_before':
      return `${usual}: the line breaks before it happens`
    case 'break_after':
      return `${usual}: it happens, and its reply is lost`
    case 'crash_before':
      return `${usual}: ${name} crashes before it happens`
    case 'crash_after':
      return `${usual}: it happens, and ${name} crashes`
    case 'crash_meanwhile':
      return `${usual}: ${name} crashes while it is on its way`
    case 'late_reply':
      return `${usual}: it happens, and its reply is late`
    case 'freeze':
      return `${usual}: it happens, and ${name} is stopped for a minute`
    case 'clock_jump':
      return `${usual}: the clock of the database jumps by a minute`
    case 'wall_jump':
      return `${usual}: the clock of ${name} goes back by ten minutes`
    case 'haste':
      return 'time passes'
  }
}
