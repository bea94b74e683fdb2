import { isAnswer } from '../faults.js'

/**
 * What the server said, inside of all that a tool wrapped around it: what to do hangs on its state. Where the server
 * said nothing, it is the error that everything began with.
 */
export function reasonOf(error: unknown): unknown {
  let reason = error
  for (let depth = 0; depth < deepest && !isAnswer(reason); depth++) {
    const inner = innerOf(reason)
    if (inner === undefined) return reason
    reason = inner instanceof Error ? inner : answerIn(inner, error)
  }
  return reason
}

/** Far more than any of them wraps; and an error may hold itself. */
const deepest = 8

/** Each has its own place for it: TypeORM, Prisma, and the others as the language has it. */
function innerOf(error: unknown): object | undefined {
  if (!(error instanceof Error)) return undefined
  const { driverError, meta, cause } = error as { driverError?: unknown; meta?: unknown; cause?: unknown }
  const { driverAdapterError } = (meta ?? {}) as { driverAdapterError?: unknown }
  return [driverError, driverAdapterError, cause].find(isObject)
}

function isObject(given: unknown): given is object {
  return typeof given === 'object' && given !== null
}

/** Prisma says what the server said in an object of its own, which is no error. */
function answerIn(said: object, cause: unknown): Error {
  const { originalCode, originalMessage, severity } = said as Readonly<Record<string, unknown>>
  const error = new Error(String(originalMessage ?? 'the driver gave no reason'), { cause })
  return originalCode === undefined ? error : Object.assign(error, { code: originalCode, severity })
}
