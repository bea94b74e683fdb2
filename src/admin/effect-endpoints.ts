import type { EffectWord } from '../effects/judging.js'
import { effectStates } from '../engine/effect-store.js'
import type { Admin } from './admin.js'
import { ensure, mayIn, type Operator, type Permission } from './authorize.js'
import type { RedriveQuery } from './effect-desk.js'
import type { EffectStory } from './effect-story.js'
import { byOf, type Endpoint, evidenceField, paging, reason, tenantIn } from './endpoint.js'
import type { Field, Fields, Given } from './fields.js'
import { Refused } from './refused.js'

const id: Field = { is: 'whole', means: 'The effect, as a list shows it.', required: true }

const redriven: Fields = {
  ids: { is: 'ids', means: 'These effects.' },
  kind: { is: 'text', means: 'All dead ones of this kind.' },
  acknowledge: { is: 'word', of: ['may_run_twice'], means: 'With ids: though a provider has forgotten the key.' },
}

/** What the API does with effects. */
export const effectEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/effects',
    summary: 'Effects, by state and kind',
    permission: 'read',
    does: 'read',
    query: {
      state: { is: 'word', of: effectStates, means: 'In this state.' },
      kind: { is: 'text', means: 'Of this kind.' },
      ...paging,
    },
    run(admin, given, operator) {
      ensure(operator, 'read', undefined)
      return admin.effects(given as Parameters<Admin['effects']>[0])
    },
  },
  {
    method: 'GET',
    path: '/effects/story',
    summary: 'All that is known of one effect, as data and as sentences',
    permission: 'read',
    does: 'read',
    query: { id },
    run: (admin, given, operator) => storyIn(admin, given, operator, 'read'),
  },
  {
    method: 'POST',
    path: '/effects/settle',
    summary: 'Settle the doubt about an effect by evidence',
    permission: 'settle',
    does: 'write',
    body: {
      id,
      says: { is: 'word', of: ['landed', 'not_landed'], means: 'What you found out.', required: true },
      evidence: evidenceField,
      result: { is: 'any', means: 'With landed: what the call returned, where something follows from it.' },
      reason,
    },
    async run(admin, given, operator) {
      const { effect } = await storyIn(admin, given, operator, 'settle')
      return admin.settleEffect(effect.id, wordIn(given), byOf(given, operator))
    },
  },
  {
    method: 'GET',
    path: '/dead-letters',
    summary: 'Effects that nobody tries any more, and what a redrive would do with each',
    permission: 'read',
    does: 'read',
    query: { kind: { is: 'text', means: 'Of this kind.' }, ...paging },
    run(admin, given, operator) {
      ensure(operator, 'read', undefined)
      return admin.deadLetters(given as Parameters<Admin['deadLetters']>[0])
    },
  },
  {
    method: 'POST',
    path: '/dead-letters/preview',
    summary: 'What a redrive would do',
    permission: 'read',
    does: 'read',
    body: redriven,
    run: (admin, given, operator) => withOthers(admin, redriveIn(given), operator, 'read', admin.previewRedrive),
  },
  {
    method: 'POST',
    path: '/dead-letters/redrive',
    summary: 'Have dead effects carried out again, with the same downstream key',
    permission: 'redrive',
    does: 'write',
    body: { ...redriven, reason },
    run: (admin, given, operator) =>
      withOthers(admin, redriveIn(given), operator, 'redrive', (query) => admin.redrive(query, byOf(given, operator))),
  },
  {
    method: 'POST',
    path: '/dead-letters/discard',
    summary: 'End dead effects for good',
    permission: 'discard',
    does: 'write',
    body: { ids: { is: 'ids', means: 'The effects.', required: true }, reason },
    run: (admin, given, operator) =>
      withOthers(admin, redriveIn(given), operator, 'discard', ({ ids = [] }) =>
        admin.discard(ids, byOf(given, operator)),
      ),
  },
]

/** An effect of somebody else's tenant is not there. */
async function storyIn(admin: Admin, { id }: Given, operator: Operator, permission: Permission): Promise<EffectStory> {
  const story = await admin.effectStory(id as number)
  if (mayIn(operator, permission, tenantIn(story.effect.scope))) return story
  throw new Refused('absent', 'There is no such effect.')
}

function wordIn({ says, evidence, result }: Given): EffectWord {
  const grounds = { evidence: String(evidence) }
  if (says === 'landed') return { says, ...grounds, ...(result !== undefined && { result }) }
  if (result !== undefined) throw new Refused('invalid', 'result goes with landed.')
  return { says: 'not_landed', ...grounds }
}

function redriveIn({ ids, kind, acknowledge }: Given): RedriveQuery {
  return {
    ...(ids !== undefined && { ids }),
    ...(kind !== undefined && { kind }),
    ...(acknowledge !== undefined && { acknowledge }),
  } as RedriveQuery
}

/**
 * By their ids each is looked at, and those of other tenants count among those that are not dead, or not there. Of a kind
 * there may be some of anybody.
 */
async function withOthers(
  admin: Admin,
  query: RedriveQuery,
  operator: Operator,
  permission: Permission,
  act: (query: RedriveQuery) => ReturnType<Admin['redrive']>,
): ReturnType<Admin['redrive']> {
  if (query.ids === undefined) ensure(operator, permission, undefined)
  if (query.ids === undefined || operator.may[permission] === 'every tenant') return act(query)
  const { effects } = await admin.previewRedrive(query)
  const own = effects.filter(({ scope }) => mayIn(operator, permission, tenantIn(scope))).map(({ id }) => id)
  const others = query.ids.filter((id) => !own.includes(id))
  const done = own.length === 0 ? { effects: [], not_dead: [] } : await act({ ...query, ids: own })
  return { ...done, not_dead: [...done.not_dead, ...others] }
}
