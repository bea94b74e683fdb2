import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import { isName } from './name.js'
import { finished, started } from './record.js'

/** What a handler is told that does not keep the rules of phases. */

export function refuseBadName(name: string): void {
  if (isName(name) && name.length <= limits.phaseNameLength && name !== started && name !== finished) return
  const message = `A phase is named in up to ${limits.phaseNameLength} printable characters, and neither ${started} nor ${finished}, which have a meaning.`
  throw new HapaxError('phase_invalid', message)
}

export function repeated(name: string): HapaxError {
  return new HapaxError(
    'phase_repeated',
    `Phase "${name}" was begun before in this run; give each phase a name of its own.`,
  )
}

export function overlapping(
  kind: 'transaction' | 'call' | 'commit' | 'extend' | 'downstreamKey',
  name: string,
  open: { readonly name: string },
): HapaxError {
  if (kind === 'call') {
    const message = `Call "${name}" was begun inside of "${open.name}"; a phase has one effect on the outside at most. Make the call before or after it.`
    return new HapaxError('second_effect', message)
  }
  return new HapaxError(
    'phase_overlapping',
    `"${name}" was begun while "${open.name}" is under way; wait for one before the next.`,
  )
}

export function anotherVersion(stored: number, version: number): HapaxError {
  const message = `An earlier attempt was made by version ${stored} of this code, which is at ${version} now. Settle it by hand, or run the old version.`
  return new HapaxError('recovery_point_unknown', message)
}

export function otherPhase(expected: string, name: string): HapaxError {
  const comes =
    expected === name
      ? `An earlier attempt has begun "${name}" as a call, and this code does not.`
      : `An earlier attempt has come by "${expected}" where this code comes to "${name}".`
  return new HapaxError('recovery_point_unknown', `${comes} Keep the order of phases, or raise the version.`)
}
