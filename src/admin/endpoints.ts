import type { Word } from '../engine/operating.js'
import { scopeOf } from '../engine/scope.js'
import { states } from '../engine/state.js'
import { limits } from '../kernel/limits.js'
import type { FindQuery, Named } from './admin.js'
import { ensure, type Operator, type Permission } from './authorize.js'
import { effectEndpoints } from './effect-endpoints.js'
import { byOf, type Endpoint, evidenceField, paging, reason, scopeField, tenantIn } from './endpoint.js'
import type { Field, Given } from './fields.js'
import { answerIn } from './given-answer.js'
import { plainStates } from './plain-states.js'
import { Refused } from './refused.js'

const scope = scopeField
const key: Field = { is: 'text', means: 'The idempotency key.', required: true, most: limits.keyLength }
const named = { scope, key }

/** All that the API does. */
export const endpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/records',
    summary: 'Find records',
    permission: 'read',
    does: 'read',
    gives: 'RecordPage',
    query: {
      tenant: { is: 'text', means: 'In all scopes of this tenant.' },
      scope: { is: 'text', means: 'In this scope.', most: limits.scopeLength },
      state: { is: 'word', of: states, means: 'In this state.' },
      plain_state: {
        is: 'word',
        of: plainStates,
        means:
          'The same in three words: processing runs or is in doubt, those that run first; what has expired is none of them.',
      },
      operation: { is: 'text', means: 'Of this route or operation, by its name.' },
      key: { is: 'text', means: 'With exactly this key.', most: limits.keyLength },
      key_prefix: { is: 'text', means: 'With a key that begins like this.', most: limits.keyLength },
      status: { is: 'whole', means: 'Answered with this status.', most: 599 },
      resource: { is: 'text', means: 'Whose answer leads there by its Location.', most: 2_000 },
      since: { is: 'time', means: 'Begun from then on.' },
      until: { is: 'time', means: 'Begun before then.' },
      order: { is: 'word', of: ['newest', 'oldest'], means: 'Which come first; the newest unless told.' },
      ...paging,
    },
    run: (admin, given, operator) => {
      const { tenant, key, key_prefix, plain_state, ...query } = given as Record<string, string>
      ensure(operator, 'read', tenant ?? (query.scope && tenantIn(query.scope)))
      if (key !== undefined && key_prefix !== undefined)
        throw new Refused('invalid', 'Give key or key_prefix, not both.')
      return admin.find({
        order: 'newest',
        ...query,
        ...(plain_state !== undefined && { plainState: plain_state }),
        ...(tenant !== undefined && { tenant: scopeOf(tenant) }),
        ...(key !== undefined && { key: { is: key } }),
        ...(key_prefix !== undefined && { key: { startsWith: key_prefix } }),
      } as FindQuery)
    },
  },
  {
    method: 'GET',
    path: '/records/story',
    summary: 'All that is known of one record, as data and as sentences',
    permission: 'read',
    does: 'read',
    gives: 'Story',
    query: named,
    run: (admin, given, operator) => admin.story(nameIn(given, operator, 'read')),
  },
  {
    method: 'POST',
    path: '/records/settle',
    summary: 'Settle an unknown outcome by evidence',
    permission: 'settle',
    does: 'write',
    gives: 'Written',
    body: {
      ...named,
      says: { is: 'word', of: ['landed', 'not_landed', 'completed'], means: 'What you found out.', required: true },
      evidence: evidenceField,
      result: { is: 'any', means: 'With landed: what the call returned, where its handler needs it.' },
      answer: { is: 'any', means: 'With completed: { status, headers, body } as the client is to get it.' },
      reason,
    },
    run: (admin, given, operator) =>
      admin.settle(nameIn(given, operator, 'settle'), wordIn(given), byOf(given, operator)),
  },
  {
    method: 'POST',
    path: '/records/reconcile',
    summary: 'Have one unknown outcome looked at now',
    permission: 'reconcile',
    does: 'write',
    gives: 'Looked',
    body: { ...named, reason },
    run: (admin, given, operator) => admin.reconcile(byOf(given, operator), nameIn(given, operator, 'reconcile')),
  },
  {
    method: 'POST',
    path: '/reconcile',
    summary: 'Look at all unknown outcomes whose time has come',
    permission: 'reconcile',
    does: 'write',
    gives: 'LookedAtAll',
    body: { reason },
    run(admin, given, operator) {
      ensure(operator, 'reconcile', undefined)
      return admin.reconcile(byOf(given, operator))
    },
  },
  {
    method: 'POST',
    path: '/records/purge',
    summary: 'Take an answer away, so that the next request with its key runs',
    permission: 'purge',
    does: 'write',
    gives: 'Written',
    body: { ...named, reason },
    run: (admin, given, operator) => admin.purge(nameIn(given, operator, 'purge'), byOf(given, operator)),
  },
  ...effectEndpoints,
  {
    method: 'GET',
    path: '/stats',
    summary: 'How much there is of what somebody should know of',
    permission: 'read',
    does: 'read',
    gives: 'Stats',
    run(admin, _, operator) {
      ensure(operator, 'read', undefined)
      return admin.stats()
    },
  },
  {
    method: 'GET',
    path: '/tenants',
    summary: 'Tenants, with their rates and quotas',
    permission: 'read',
    does: 'read',
    gives: 'TenantPage',
    query: { tenant: { is: 'text', means: 'This one, with what it takes up.' }, ...paging },
    async run(admin, { tenant, ...page }, operator) {
      ensure(operator, 'read', tenant as string | undefined)
      return tenant === undefined ? admin.tenants(page) : { items: [await admin.tenant(tenant as string)] }
    },
  },
  {
    method: 'GET',
    path: '/routes',
    summary: 'Routes that change something, and whether they are guarded',
    permission: 'read',
    does: 'read',
    gives: 'Routes',
    run: async (admin) => ({ items: await admin.routes() }),
  },
  {
    method: 'GET',
    path: '/workers',
    summary: 'The last runs of the workers of this process',
    permission: 'read',
    does: 'read',
    gives: 'Workers',
    async run(admin, _, operator) {
      const items = await admin.workers()
      // How much they did, they did for everybody.
      if (operator.may.read === 'every tenant') return { items, says: ofThisProcess }
      return { items: items.map(({ last_did: _, ...worker }) => worker), says: ofThisProcess }
    },
  },
  {
    method: 'GET',
    path: '/health',
    summary: 'Schema, clock, replication: whether the store is fit to serve',
    permission: 'read',
    does: 'read',
    gives: 'Health',
    run: (admin) => admin.health(),
  },
  {
    method: 'GET',
    path: '/audit',
    summary: 'What people did',
    permission: 'audit',
    does: 'read',
    gives: 'AuditPage',
    query: {
      scope: { ...scope, required: undefined } as unknown as Field,
      key: { ...key, required: undefined } as unknown as Field,
      order: { is: 'word', of: ['newest', 'oldest'], means: 'Which come first; the newest unless told.' },
      ...paging,
    },
    run(admin, { scope, key, ...page }, operator) {
      const isAbout = isPair({ scope, key })
      ensure(operator, 'audit', isAbout ? tenantIn(scope as string) : undefined)
      const about = isAbout ? { about: { scope: scope as string, key: key as string } } : {}
      return admin.audit({ order: 'newest', ...page, ...about })
    },
  },
  {
    method: 'GET',
    path: '/audit/verify',
    summary: 'Whether the audit log is as it was written',
    permission: 'audit',
    does: 'read',
    gives: 'Verified',
    query: {
      sequence: { is: 'whole', means: 'An entry that somebody has written down elsewhere.' },
      hash: { is: 'text', means: 'And its hash.' },
    },
    run(admin, { sequence, hash }, operator) {
      ensure(operator, 'audit', undefined)
      const isAnchored = isPair({ sequence, hash })
      return admin.verify(isAnchored ? { sequence: sequence as number, hash: hash as string } : undefined)
    },
  },
]

/** Whether both are there. Half of what somebody asks for would be answered as if he had not asked. */
function isPair(given: Given): boolean {
  const there = Object.values(given).filter((value) => value !== undefined)
  if (there.length === 1) throw new Refused('invalid', `${Object.keys(given).join(' and ')} go together.`)
  return there.length === 2
}

/** Who looks for a worker that stopped must not take another process for all of them. */
const ofThisProcess =
  'These are the workers of the process that was asked. Those of others are seen by their metrics, or by asking there.'

function nameIn({ scope, key }: Given, operator: Operator, permission: Permission): Named {
  const name = { scope: String(scope), key: String(key) }
  ensure(operator, permission, tenantIn(name.scope))
  return name
}

function wordIn({ says, evidence, result, answer }: Given): Word {
  const grounds = String(evidence)
  switch (says) {
    case 'not_landed':
      return { says, evidence: grounds }
    case 'landed':
      return { says, evidence: grounds, ...(result !== undefined && { result }) }
    default:
      return { says: 'completed', evidence: grounds, answer: answerIn(answer) }
  }
}
