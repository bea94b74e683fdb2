/** What operators do with the keys of an engine, as functions and as an HTTP API. */
export {
  type Admin,
  type AdminOptions,
  admin,
  type Done,
  type FindQuery,
  type LookedAt,
  type Named,
} from './admin.js'
export { type AdminApi, type AdminApiOptions, adminApi } from './api.js'
export { type Authorize, everything, type Operator, type Permission, permissions } from './authorize.js'
export type { Changed, DeadLetterView, EffectDesk, EffectDone, LetterQuery, RedriveQuery } from './effect-desk.js'
export type { EffectStory } from './effect-story.js'
export type { Health } from './health.js'
export type { Listed, Paged } from './paging.js'
export type { PlainState } from './plain-states.js'
export { isRefused, type RefusalCode, Refused } from './refused.js'
export { type GuardedRoute, guardedBy, type RouteAuditOptions, routeCollector, routesOf } from './route-audit.js'
export type { StatsView } from './stats.js'
export type { Story } from './story.js'
export type { Tally } from './tallies.js'
export type { Rates, TenantRate, TenantView } from './tenants.js'
export type { AuditView, CallView, EffectView, RecordView, SaidView } from './views.js'
export type { WorkerView } from './worker-watch.js'
