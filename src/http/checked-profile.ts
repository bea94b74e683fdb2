import { HapaxError } from '../kernel/errors.js'
import type { Profile } from './profile.js'

/** What is no profile, like the name of one, is found at start. The header is in lower case from here on. */
export function checkedProfile(given: Profile, where: string): Profile {
  const { header, problem, key, defaults, statuses } = (given ?? {}) as Partial<Profile>
  const isProfile = typeof header === 'string' && typeof problem === 'function'
  if (isProfile && key && defaults && statuses) return { ...given, header: header.toLowerCase() }
  const said = typeof given === 'string' ? `is the text ${JSON.stringify(given)}` : 'is no profile'
  const message = `${where}: profile ${said}; give one of profiles, like profiles.stripe, or your own: { ...profiles.ietf, name: 'ours' }.`
  throw new HapaxError('policy_invalid', message)
}
