/** What a careless author might write into the statements of the Postgres store: one edit of their text each. */
export interface PlantedPostgresFault {
  readonly fault: string
  /** A case that must find it. Others may find it too. */
  readonly caughtBy: string
  readonly from: string | RegExp
  readonly to: string
}

/** What it is called among all planted bugs. */
export function nameOf({ fault }: PlantedPostgresFault): string {
  return `the PostgreSQL store ${fault}`
}

export const plantedPostgresFaults: readonly PlantedPostgresFault[] = [
  {
    fault: 'ignores the fence',
    caughtBy: 'the right claim id with the wrong fence can change nothing',
    from: 'AND fence = $2',
    to: 'AND $2::bigint > 0',
  },
  {
    fault: 'ignores the claim id',
    caughtBy: 'the right fence with the wrong claim id can change nothing',
    from: 'AND claim_id = $3',
    to: "AND $3::text <> ''",
  },
  {
    fault: 'ignores the generation of a claim',
    caughtBy: 'the right claim id and fence in the wrong generation can change nothing',
    from: 'AND generation = $4',
    to: 'AND $4::bigint > 0',
  },
  {
    fault: 'takes over whatever key it meets',
    caughtBy: 'of fifty racers on two nodes exactly one starts',
    from: 'DO NOTHING',
    to: 'DO UPDATE SET claim_id = EXCLUDED.claim_id',
  },
  {
    fault: 'has looked whether a key is free, and inserts it as if that still were so',
    caughtBy: 'of fifty racers on two nodes exactly one starts',
    from: 'ON CONFLICT (digest) DO NOTHING',
    to: '',
  },
  {
    fault: 'overwrites a row that is no longer the one it judged',
    caughtBy: 'of fifty racers for what failed exactly one resumes',
    from: /(UPDATE[\s\S]*AND )revision = \$2::bigint/,
    to: '$1$2::bigint > 0',
  },
  {
    fault: 'writes without raising the revision',
    caughtBy: 'of fifty racers for an expired key exactly one starts',
    from: 'revision = revision + 1',
    to: 'revision = revision',
  },
  {
    fault: 'completes in whatever state',
    caughtBy: 'a claim that failed can change nothing more',
    from: " AND status IN ('in_progress', 'unknown')",
    to: '',
  },
  {
    fault: 'does not let a doubt be completed in a transaction',
    caughtBy: 'the last claim may complete a doubt in a transaction, with its row',
    from: "status IN ('in_progress', 'unknown')",
    to: "status = 'in_progress'",
  },
  {
    fault: 'renews in whatever state',
    caughtBy: 'a claim that completed can change nothing more',
    from: /(SET locked_until = t\.now[\s\S]*) AND status = 'in_progress'/,
    to: '$1',
  },
  {
    fault: 'sweeps and reaps what it did not lock',
    caughtBy: 'two sweepers share the run-out leases between them, each one once',
    from: ' FOR UPDATE SKIP LOCKED',
    to: '',
  },
  {
    fault: 'sweeps and reaps without a bound',
    caughtBy: 'a sweep takes at most as many as it was told, and the next ones take the rest',
    from: 'LIMIT $1',
    to: 'LIMIT 1000 + $1::bigint',
  },
  {
    fault: 'sweeps what may run again',
    caughtBy: 'a sweep never touches what lives',
    from: " AND on_lease_over = 'doubt'",
    to: '',
  },
  {
    fault: 'abandons what workers go on with',
    caughtBy: 'what workers go on with is left to them, and to a person where none knows its operation',
    from: 'operation <> ALL ($2::text[])',
    to: 'cardinality($2::text[]) >= 0',
  },
  {
    fault: 'abandons before the retention is over',
    caughtBy: 'half-done work that failed is left to a person at its retention',
    from: /(ELSE false END) AND expires_at <= \S+/,
    to: '$1',
  },
  {
    fault: 'abandons before the lease is over, or before a failure goes on',
    caughtBy: 'a failure that goes on at a later time is left alone until then',
    from: /coalesce\(locked_until, reconcile_after\) <= \S+/,
    to: 'true',
  },
  {
    fault: 'abandons what left nothing behind',
    caughtBy:
      'nobody is asked about what is over, in doubt, kept for ever, left to the sweeper, or left nothing behind',
    from: "recovery_point <> 'started' OR is_begun = 1",
    to: 'true',
  },
  {
    fault: 'abandons in whatever order',
    caughtBy: 'of what is past its retention as many are taken as were told, the longest past it first',
    from: /(operation <> ALL[\s\S]*ORDER BY) expires_at/,
    to: '$1 id DESC',
  },
  {
    fault: 'has workers look at what was abandoned',
    caughtBy: 'what was abandoned does not run again, is looked at by nobody, and never expires',
    from: /reconcile_after = NULL,(\s+last_error_code = 'abandoned')/,
    to: 'reconcile_after = t.now,$1',
  },
  {
    fault: 'lets whoever said that it failed complete it after all',
    caughtBy: 'whoever said that it failed can change nothing once that was abandoned',
    from: "claim_id = CASE status WHEN 'failed_retryable' THEN '' ELSE claim_id END,",
    to: '',
  },
  {
    fault: 'lets nobody complete what was abandoned',
    caughtBy: 'the last claim may complete what was abandoned under it: it was only slow',
    from: "CASE status WHEN 'failed_retryable' THEN '' ELSE claim_id END",
    to: "''",
  },
  {
    fault: 'abandons what it did not lock',
    caughtBy: 'of nodes that abandon at once each record comes to one',
    from: ' FOR UPDATE SKIP LOCKED',
    to: '',
  },
  {
    fault: 'buries half-done work',
    caughtBy: 'half-done work never expires',
    from: " AND recovery_point = 'started'",
    to: '',
  },
  {
    fault: 'deletes a tombstone that has not stood its time',
    caughtBy: 'a record is buried at its deadline and deleted when the tombstone has stood its time',
    from: /tombstone_ms \* /g,
    to: '0 * ',
  },
  {
    fault: 'lists every scope',
    caughtBy: 'a list of one scope shows no other',
    from: /scope_id COLLATE "C" = \$1(?= ORDER| AND id)/g,
    to: '$$1::text IS NOT NULL',
  },
  {
    fault: 'counts only the scope that is the tenant itself',
    caughtBy: 'a tenant is counted over all of its scopes, on every node',
    from: 'scope_id COLLATE "C" >= $2',
    to: "'' = $2",
  },
  {
    fault: 'counts whoever comes after the tenant',
    caughtBy: 'a tenant is not counted for another whose name begins like its own',
    from: 'scope_id COLLATE "C" < $3',
    to: "'' < $3",
  },
  {
    fault: 'counts tombstones',
    caughtBy: 'a tombstone does not count, and a key used anew does',
    from: /WHERE scope_id COLLATE "C" = \$1 AND status <> 'expired'/,
    to: 'WHERE scope_id COLLATE "C" = $$1',
  },
  {
    fault: 'counts by another clock',
    caughtBy: 'whatever state a key is in, it counts until it is free again',
    from: /(octet_length[\s\S]*?expires_at <= \(SELECT ).*?\.clock\(\)/,
    to: '$1clock_timestamp()',
  },
  {
    fault: 'judges a renewal by another clock',
    caughtBy: 'renewing moves the end of the lease to so much from now',
    from: /(SET locked_until = t\.now[\s\S]*FROM \(SELECT ).*?\.clock\(\)/,
    to: '$1clock_timestamp()',
  },
  {
    fault: 'keeps the retention of the reservation when it completes',
    caughtBy: 'completing restarts the retention',
    from: /(completed_at = t\.now, expires_at = )CASE[\s\S]*? END/,
    to: '$1expires_at',
  },
  {
    fault: 'begins no transaction',
    caughtBy: 'until it commits, nobody else sees anything of a transaction',
    from: /^BEGIN [^;]*/,
    to: 'SELECT 1',
  },
  {
    fault: 'takes a transaction that was rolled back for committed',
    caughtBy: 'a transaction that completes shows its row and its answer together',
    from: /^COMMIT$/,
    to: 'ROLLBACK',
  },
  {
    fault: 'writes down what people did without taking turns',
    caughtBy: 'of twenty writers at once, on two nodes, each has its place in one chain',
    from: /(FROM [^\s]*\.audit_head) FOR UPDATE/,
    to: '$1',
  },
  {
    fault: 'forgets where the chain of the audit log ends',
    caughtBy: 'a settlement is written down with who, why, before and after, and is there when it is',
    from: /(UPDATE [^\s]*\.audit_head SET sequence = \$1, hash = \$2)/,
    to: '$1 WHERE false',
  },
  {
    fault: 'purges what has effects that are not final',
    caughtBy: 'an answer whose effects are not final is not purged',
    from: /^(SELECT 1 FROM [^\s]*\.records r WHERE id = \$1 AND )/,
    to: '$1false AND ',
  },
]
