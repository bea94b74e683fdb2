import type { Provider } from './catalogue.js'
import { Refusal } from './refusal.js'

/** How a provider misbehaves when it is told to. */
export type Mode = (typeof modes)[number]

const modes = ['timeout_before', 'timeout_after_effect', 'error_500_after_effect', 'reset', 'slow', 'decline'] as const

export interface Fault {
  readonly provider: string
  readonly operation: string
  readonly mode: Mode
  /** How many requests still meet it. */
  readonly times: number
  /** How long `slow` takes. */
  readonly ms?: number
}

/** Faults that are still open. They live in memory: who starts providers anew starts with good ones. */
export interface Faults {
  add(sent: unknown): Fault
  open(): readonly Fault[]
  /** Says how many there were. What is `undefined` stands for all. */
  clear(provider?: string, operation?: string): number
  /** The oldest one for this operation, used up once more. */
  take(provider: string, operation: string): Fault | undefined
}

const mostTimes = 1_000
const slowMs = { usual: 3_000, most: 60_000 }

export function faultsOf(catalogue: readonly Provider[]): Faults {
  let open: readonly Fault[] = []
  return {
    add(sent) {
      const fault = faultOf(catalogue, sent)
      open = [...open, fault]
      return fault
    },
    open: () => open,
    clear(provider, operation) {
      const isMeant = (fault: Fault) =>
        fault.provider === (provider ?? fault.provider) && fault.operation === (operation ?? fault.operation)
      const left = open.filter((fault) => !isMeant(fault))
      const cleared = open.length - left.length
      open = left
      return cleared
    },
    take(provider, operation) {
      const taken = open.find((fault) => fault.provider === provider && fault.operation === operation)
      open = open.flatMap((fault) => {
        if (fault !== taken) return [fault]
        return fault.times > 1 ? [{ ...fault, times: fault.times - 1 }] : []
      })
      return taken
    },
  }
}

function faultOf(catalogue: readonly Provider[], sent: unknown): Fault {
  const { provider, operation, mode, times, ms } = (sent ?? {}) as Readonly<Record<string, unknown>>
  const found = catalogue.find(({ name }) => name === provider)
  if (found === undefined) throw invalid('provider', names(catalogue))
  const operations = [...found.operations.map(({ name }) => name), 'lookup']
  if (!operations.includes(String(operation))) throw invalid('operation', operations.join(', '))
  const known = modes.find((one) => one === mode)
  if (known === undefined) throw invalid('mode', modes.join(', '))
  const wait = known === 'slow' ? { ms: wholeNumber('ms', ms, slowMs.usual, slowMs.most) } : {}
  const left = wholeNumber('times', times, 1, mostTimes)
  return { provider: found.name, operation: String(operation), mode: known, times: left, ...wait }
}

function wholeNumber(name: string, given: unknown, usual: number, most: number): number {
  const value = given ?? usual
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value
  throw refused(name, `is a whole number from 1 to ${most}`)
}

function names(catalogue: readonly Provider[]): string {
  return catalogue.map(({ name }) => name).join(', ')
}

function invalid(field: string, values: string): Refusal {
  return refused(field, `is one of: ${values}`)
}

function refused(field: string, what: string): Refusal {
  return new Refusal(400, 'fault_invalid', `${field} ${what}.`, { field })
}
