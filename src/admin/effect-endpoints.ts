import type { EffectWord } from '../effects/judging.js'
import { effectStates } from '../engine/effect-store.js'
import type { Admin } from './admin.js'
import { ensure, ensureAny, type Operator, type Permission } from './authorize.js'
import type { EffectDesk, LetterQuery, RedriveQuery } from './effect-desk.js'
import { byOf, type Endpoint, evidenceField, paging, reason } from './endpoint.js'
import type { Field, Fields, Given } from './fields.js'
import { Refused } from './refused.js'

const id: Field = { is: 'whole', means: 'The effect, as a list shows it.', required: true }

const kind: Field = { is: 'text', means: 'Of this kind.' }
const tenant: Field = { is: 'text', means: 'Of this tenant.' }

const redriven: Fields = {
  ids: { is: 'ids', means: 'These effects.' },
  kind: { is: 'text', means: 'All dead ones of this kind.' },
  tenant,
  acknowledge: { is: 'word', of: ['may_run_twice'], means: 'With ids: though a provider has forgotten the key.' },
}

/** What the API does with effects. */
export const effectEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/effects',
    summary: 'Effects, by state, kind and tenant',
    permission: 'read',
    does: 'read',
    gives: 'EffectPage',
    query: {
      state: { is: 'word', of: effectStates, means: 'In this state.' },
      kind,
      tenant,
      ...paging,
    },
    run: (admin, given, operator) =>
      deskOf(admin, operator, 'read', given).effects(given as Parameters<EffectDesk['effects']>[0]),
  },
  {
    method: 'GET',
    path: '/effects/story',
    summary: 'All that is known of one effect, as data and as sentences',
    permission: 'read',
    does: 'read',
    gives: 'EffectStory',
    query: { id },
    run: (admin, given, operator) => deskOf(admin, operator, 'read').effectStory(idIn(given)),
  },
  {
    method: 'POST',
    path: '/effects/settle',
    summary: 'Settle the doubt about an effect by evidence',
    permission: 'settle',
    does: 'write',
    gives: 'EffectWritten',
    body: {
      id,
      says: { is: 'word', of: ['landed', 'not_landed'], means: 'What you found out.', required: true },
      evidence: evidenceField,
      result: { is: 'any', means: 'With landed: what the call returned, where something follows from it.' },
      reason,
    },
    run: (admin, given, operator) =>
      deskOf(admin, operator, 'settle').settleEffect(idIn(given), wordIn(given), byOf(given, operator)),
  },
  {
    method: 'POST',
    path: '/effects/reconcile',
    summary: 'Have the doubt about one effect looked at now',
    permission: 'reconcile',
    does: 'write',
    gives: 'EffectLooked',
    body: { id, reason },
    run: (admin, given, operator) =>
      deskOf(admin, operator, 'reconcile').reconcileEffect(idIn(given), byOf(given, operator)),
  },
  {
    method: 'GET',
    path: '/dead-letters',
    summary: 'Effects that nobody tries any more, and what a redrive would do with each',
    permission: 'read',
    does: 'read',
    gives: 'DeadLetterPage',
    query: { kind, tenant, ...paging },
    run: (admin, given, operator) => deskOf(admin, operator, 'read', given).deadLetters(given as LetterQuery),
  },
  {
    method: 'POST',
    path: '/dead-letters/preview',
    summary: 'What a redrive would do',
    permission: 'read',
    does: 'read',
    gives: 'Changed',
    body: redriven,
    run: (admin, given, operator) => deskOf(admin, operator, 'read', given).previewRedrive(redriveIn(given)),
  },
  {
    method: 'POST',
    path: '/dead-letters/redrive',
    summary: 'Have dead effects carried out again, with the same downstream key',
    permission: 'redrive',
    does: 'write',
    gives: 'Changed',
    body: { ...redriven, reason },
    run: (admin, given, operator) =>
      deskOf(admin, operator, 'redrive', given).redrive(redriveIn(given), byOf(given, operator)),
  },
  {
    method: 'POST',
    path: '/dead-letters/discard',
    summary: 'End dead effects for good',
    permission: 'discard',
    does: 'write',
    gives: 'Changed',
    body: { ids: { is: 'ids', means: 'The effects.', required: true }, reason },
    run: (admin, given, operator) =>
      deskOf(admin, operator, 'discard').discard(given.ids as readonly number[], byOf(given, operator)),
  },
]

/** What is of tenants in which he may not do it, is not there; to ask for one of them by name is refused, as with records. */
function deskOf(admin: Admin, operator: Operator, permission: Permission, { tenant }: Given = {}): EffectDesk {
  if (tenant !== undefined) ensure(operator, permission, String(tenant))
  const where = ensureAny(operator, permission)
  return where === 'every tenant' ? admin : admin.within(where)
}

function idIn({ id }: Given): number {
  return id as number
}

function wordIn({ says, evidence, result }: Given): EffectWord {
  const grounds = { evidence: String(evidence) }
  if (says === 'landed') return { says, ...grounds, ...(result !== undefined && { result }) }
  if (result !== undefined) throw new Refused('invalid', 'result goes with landed.')
  return { says: 'not_landed', ...grounds }
}

function redriveIn({ ids, kind, tenant, acknowledge }: Given): RedriveQuery {
  return {
    ...(ids !== undefined && { ids }),
    ...(kind !== undefined && { kind }),
    ...(tenant !== undefined && { tenant }),
    ...(acknowledge !== undefined && { acknowledge }),
  } as RedriveQuery
}
