import type { Admin, Changed, FindQuery, Named } from 'hapax/admin'

/** Where operators look: records of one tenant among many, and some to act on, each time another one. */
export interface Ground {
  readonly tenant: string
  readonly key: string
  /** Of a few keys among many. */
  readonly prefix: string
  readonly resource: string
  readonly operation: string
  readonly kind: string
  /** When most records were begun. */
  readonly now: number
  readonly completed: () => Named
  readonly unknown: () => Named
  readonly dead: () => number
  /** An effect in doubt. */
  readonly doubted: () => number
}

export interface Action {
  readonly method: keyof Admin
  /** A query is answered at once. What goes through all there is, or asks providers, takes its time. */
  readonly takes: 'no time' | 'its time'
  readonly run: () => Promise<unknown>
}

const hour = 3_600_000
const by = { who: 'ann', why: 'to see' }

/** Everything that operators do which asks the store, by name: what is measured, and what has its plans looked at. */
export function actionsOf(admin: Admin, ground: Ground): Readonly<Record<string, Action>> {
  const { tenant, now, resource, kind } = ground
  const answer = { status: 201, headers: [], body: new Uint8Array() }
  const queries: Readonly<Record<string, FindQuery>> = {
    newest: {},
    'oldest first': { order: 'oldest' },
    tenant: { tenant },
    scope: { scope: tenant },
    'tenant, completed': { tenant, state: 'completed' },
    key: { key: { is: ground.key } },
    'key of a scope': { scope: tenant, key: { is: ground.key } },
    'key prefix': { key: { startsWith: ground.prefix } },
    'key prefix of a tenant': { tenant, key: { startsWith: ground.prefix } },
    unknown: { state: 'unknown' },
    'unknown of a tenant': { state: 'unknown', tenant },
    failed: { state: 'failed_retryable' },
    'in progress': { state: 'in_progress' },
    completed: { state: 'completed' },
    expired: { state: 'expired' },
    operation: { operation: ground.operation },
    'operation that is rare': { operation: 'nobody' },
    status: { status: 201 },
    'status that is rare': { status: 402 },
    resource: { resource },
    'resource of a tenant': { tenant, resource },
    'last hour': { since: now - hour },
    'an hour, long ago': { since: now - 30 * hour, until: now - 29 * hour },
    'an hour of a tenant': { tenant, since: now - 2 * hour, until: now - hour },
    'an hour of a scope': { scope: tenant, since: now - 2 * hour, until: now - hour },
  }
  const found = Object.entries(queries).map(([name, query]) => [
    `find: ${name}`,
    quick('find', () => admin.find({ order: 'newest', ...query })),
  ])
  return {
    ...Object.fromEntries(found),
    'find: next page': quick('find', async () => {
      const { next } = await admin.find({ order: 'newest', tenant })
      if (next === undefined) throw new Error('A tenant has more than a page.')
      return admin.find({ order: 'newest', tenant, after: next })
    }),
    story: quick('story', () => admin.story(ground.unknown())),
    stats: quick('stats', () => admin.stats()),
    'tenants by name': quick('tenants', () => admin.tenants({})),
    'usage of a tenant': quick('tenant', () => admin.tenant(tenant)),
    'effects by age': quick('effects', () => admin.effects({})),
    'effects to carry out': quick('effects', () => admin.effects({ state: 'ready' })),
    'effects that were done': quick('effects', () => admin.effects({ state: 'done', kind })),
    'effects that are rare': quick('effects', () => admin.effects({ state: 'discarded' })),
    'effects of a kind that is rare': quick('effects', () => admin.effects({ kind: 'nobody' })),
    'effects in doubt': quick('effects', () => admin.effects({ state: 'unknown' })),
    'effects of a tenant': quick('within', () => admin.within([tenant]).effects({})),
    'effects of a tenant that were done': quick('effects', () => admin.effects({ tenant, state: 'done', kind })),
    'effects of a tenant that are rare': quick('effects', () => admin.effects({ tenant, state: 'discarded' })),
    'effects in doubt of a tenant': quick('effects', () => admin.effects({ tenant, state: 'unknown' })),
    'story of an effect': quick('effectStory', () => admin.effectStory(ground.doubted())),
    'dead letters': quick('deadLetters', () => admin.deadLetters({})),
    'dead letters of a kind': quick('deadLetters', () => admin.deadLetters({ kind })),
    'dead letters of a tenant': quick('deadLetters', () => admin.within([tenant, 'nobody']).deadLetters({})),
    'dead letters of a tenant and a kind': quick('deadLetters', () => admin.deadLetters({ tenant, kind })),
    'preview of a redrive': quick('previewRedrive', () => admin.previewRedrive({ ids: [ground.dead()] })),
    'preview of a kind': quick('previewRedrive', () => admin.previewRedrive({ kind })),
    'preview of a kind of a tenant': quick('previewRedrive', () => admin.previewRedrive({ tenant, kind })),
    'audit log': quick('audit', () => admin.audit({ order: 'newest' })),
    'audit log from its beginning': quick('audit', () => admin.audit({})),
    'audit log about a record': quick('audit', () => admin.audit({ about: ground.unknown() })),
    health: quick('health', () => admin.health()),
    settle: quick('settle', () => admin.settle(ground.unknown(), { says: 'completed', evidence: 'seen', answer }, by)),
    'settle an effect': quick('settleEffect', () =>
      admin.settleEffect(ground.doubted(), { says: 'landed', evidence: 'seen', result: {} }, by),
    ),
    purge: quick('purge', () => admin.purge(ground.completed(), by)),
    redrive: quick('redrive', async () => expectChange(await admin.redrive({ ids: [ground.dead()] }, by))),
    discard: quick('discard', async () => expectChange(await admin.discard([ground.dead()], by))),
    reconcile: { method: 'reconcile', takes: 'its time', run: () => admin.reconcile(by, ground.unknown()) },
    'reconcile an effect': {
      method: 'reconcileEffect',
      takes: 'its time',
      run: () => admin.reconcileEffect(ground.doubted(), by),
    },
    'verify the audit log': { method: 'verify', takes: 'its time', run: () => admin.verify() },
  }
}

function quick(method: keyof Admin, run: () => Promise<unknown>): Action {
  return { method, takes: 'no time', run }
}

/** What was refused would have asked for less. */
function expectChange({ effects }: Changed): void {
  if (!effects.every(({ changed }) => changed)) throw new Error('A dead effect was not changed.')
}
