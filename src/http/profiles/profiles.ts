import type { Profile } from '../profile.js'
import { boundary } from './boundary.js'
import { brandur } from './brandur.js'
import { finastra } from './finastra.js'
import { ietf } from './ietf.js'
import { marketplace } from './marketplace.js'
import { stripe } from './stripe.js'

/**
 * The contracts that come with Hapax. For one of your own, start from the nearest.
 *
 * @example
 * const ours = { ...profiles.ietf, name: 'ours', key: { format: keyFormats.uuid }, defaults: { retention: '7d' } }
 */
export const profiles = { ietf, stripe, finastra, marketplace, brandur, boundary } as const satisfies Readonly<
  Record<string, Profile>
>
