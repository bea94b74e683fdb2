import type { Migration } from './migration.js'

/**
 * The outbox. What shall happen is written once and never changed; how far it is stands in a narrow row of its own, which
 * is what workers write. Each index holds only the rows that its reader wants.
 *
 * The order of an effect is as it was given; that of its state begins with the scope, so that two scopes never share one.
 */
export const effects: Migration = {
  version: 4,
  name: '0004-effects',
  sql: (schema) => [
    `CREATE TABLE ${schema}.effects (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  record_id bigint NOT NULL,
  scope_id text NOT NULL,
  operation text NOT NULL,
  generation bigint NOT NULL,
  phase text NOT NULL,
  sequence integer NOT NULL CHECK (sequence >= 1),
  kind text NOT NULL,
  payload bytea NOT NULL,
  downstream_key text NOT NULL UNIQUE,
  ordering text,
  created_at timestamptz NOT NULL,
  UNIQUE (record_id, generation, phase, sequence)
)`,
    `CREATE TABLE ${schema}.effect_states (
  effect_id bigint PRIMARY KEY,
  record_id bigint NOT NULL,
  scope_id text NOT NULL,
  kind text NOT NULL,
  ordering text,
  state text NOT NULL CHECK (state IN ('ready', 'leased', 'done', 'unknown', 'dead', 'discarded')),
  due_at timestamptz NOT NULL,
  fence bigint NOT NULL DEFAULT 0,
  leased_until timestamptz,
  on_lease_over text NOT NULL DEFAULT 'resume' CHECK (on_lease_over IN ('resume', 'doubt')),
  started bigint NOT NULL DEFAULT 0,
  finished bigint NOT NULL DEFAULT 0,
  first_started_at timestamptz,
  provider_id text,
  result bytea,
  last_error_code text,
  doubted_at timestamptz,
  looks bigint NOT NULL DEFAULT 0,
  reconcile_after timestamptz,
  finished_at timestamptz,
  CHECK ((state = 'leased') = (leased_until IS NOT NULL))
) WITH (fillfactor = 80)`,
    // What can be claimed, when it can be: one that is ready when it is due, one that is leased when its lease is over.
    `CREATE INDEX effect_states_live ON ${schema}.effect_states ((coalesce(leased_until, due_at)), effect_id)
  WHERE state IN ('ready', 'leased') AND on_lease_over = 'resume'`,
    `CREATE INDEX effect_states_begun ON ${schema}.effect_states (leased_until)
  WHERE state = 'leased' AND on_lease_over = 'doubt'`,
    `CREATE INDEX effect_states_doubts ON ${schema}.effect_states (reconcile_after) WHERE state = 'unknown'`,
    `CREATE INDEX effect_states_open ON ${schema}.effect_states (record_id) WHERE state NOT IN ('done', 'discarded')`,
    `CREATE INDEX effect_states_order ON ${schema}.effect_states (ordering, effect_id)
  WHERE ordering IS NOT NULL AND state NOT IN ('done', 'discarded')`,
    `CREATE INDEX effect_states_listed ON ${schema}.effect_states (state, effect_id) WHERE state IN ('unknown', 'dead')`,
    `CREATE INDEX effect_states_final ON ${schema}.effect_states (finished_at) WHERE state IN ('done', 'discarded')`,
  ],
}
