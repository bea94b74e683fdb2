import { scopeParts } from '../engine/scope.js'
import { adminBounds, limits } from '../kernel/limits.js'
import type { Admin } from './admin.js'
import type { Operator, Permission } from './authorize.js'
import type { Field, Fields, Given } from './fields.js'
import { Refused } from './refused.js'
import type { SchemaName } from './schemas.js'

/** One thing that the API does. It is served by this, and described by this. */
export interface Endpoint {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly summary: string
  readonly permission: Permission
  /** A write needs a reason and a key, is written down, and is refused where the API only shows. */
  readonly does: 'read' | 'write'
  /** What it answers with. */
  readonly gives: SchemaName
  readonly query?: Fields
  readonly body?: Fields
  run(admin: Admin, given: Given, operator: Operator): Promise<unknown>
}

export const paging = {
  limit: { is: 'whole', means: `How many, ${adminBounds.page} unless told.`, most: adminBounds.largestPage },
  after: { is: 'text', means: 'The next of the page before.' },
} as const satisfies Fields

export const scopeField: Field = {
  is: 'text',
  means: 'Whose key it is, as a list shows it.',
  required: true,
  most: limits.scopeLength,
}

export const reason: Field = {
  is: 'text',
  means: 'Why you do this, for the audit log.',
  required: true,
  most: limits.whyLength,
}

export const evidenceField: Field = { is: 'text', means: 'On what grounds.', required: true, most: limits.whyLength }

export function byOf({ reason }: Given, { who }: Operator) {
  return { who, why: String(reason) }
}

export function tenantIn(scope: string): string {
  try {
    return scopeParts(scope as Parameters<typeof scopeParts>[0]).tenant
  } catch {
    throw new Refused('invalid', 'scope is not one that a list shows.')
  }
}
