/**
 * Who holds a key, for how long, and what a write needs.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const claimBugs = [
  {
    bug: 'a write needs no fence',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'return current.fence === claim.fence && current.claimId === claim.claimId',
      to: 'return current.claimId === claim.claimId',
    },
    caughtBy: { suite: 'the right claim id with the wrong fence can change nothing' },
  },
  {
    bug: 'a write needs no claim id',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'current.fence === claim.fence && current.claimId === claim.claimId &&',
      to: 'current.fence === claim.fence &&',
    },
    caughtBy: { suite: 'the right fence with the wrong claim id can change nothing' },
  },
  {
    bug: 'a write does not look at the generation',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'current.claimId === claim.claimId && current.generation === claim.generation',
      to: 'current.claimId === claim.claimId',
    },
    caughtBy: { suite: 'the right claim id and fence in the wrong generation can change nothing' },
  },
  {
    bug: 'a record is looked at first, and then written whatever it is by then',
    patch: {
      file: 'src/stores/postgres/steps.ts',
      from: "if (next === 'deleted' ? await records.remove(found) : await records.write(found, next, call)) return answer",
      to: "if (next === 'deleted') await records.remove(found)\n      else await records.write(found, next, call)\n      return answer",
    },
    caughtBy: { case: 'a late retry against the reaper that buries its key, one crash' },
    says: /a second payout/,
  },
  {
    bug: 'a lease is over before its time',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'const leaseLeftMs = (current.leaseUntil ?? 0) - now',
      to: 'const leaseLeftMs = 0',
    },
    caughtBy: { seeds: 3_000 },
    says: /was taken from a holder that lives/,
  },
  {
    bug: 'the sweeper does not look at the lease, and so not at its renewal',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "record.onLeaseOver === 'doubt' && (record.leaseUntil ?? 0) <= now",
      to: "record.onLeaseOver === 'doubt'",
    },
    caughtBy: { seeds: 3_000 },
    says: /was put in doubt while its holder lives/,
  },
  {
    bug: 'the sweeper looks at when a lease began, and not at its renewal',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "record.onLeaseOver === 'doubt' && (record.leaseUntil ?? 0) <= now",
      to: "record.onLeaseOver === 'doubt' && record.lastRunAt + 30_000 <= now",
    },
    caughtBy: { case: 'a slow holder that lives, and has renewed its lease, against the sweeper and a retry' },
    says: /was put in doubt while its holder lives/,
  },
  {
    bug: 'what may not run again runs again after a crash',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "if (current.onLeaseOver === 'resume') return taken",
      to: "if (current.onLeaseOver !== 'never') return taken",
    },
    caughtBy: { seeds: 3_000 },
    says: /was taken over although its outcome was in doubt/,
  },
  {
    bug: 'the fence stays when a key is claimed anew',
    patch: {
      file: 'src/engine/next-record.ts',
      from: "    state: stateAfter(current.state, 'resume'),\n    fence: current.fence + 1,",
      to: "    state: stateAfter(current.state, 'resume'),\n    fence: current.fence,",
    },
    caughtBy: { seeds: 6_000 },
    says: /was resumed under its old fence/,
  },
  {
    bug: 'whoever has taken a key says that it is under way',
    patch: {
      file: 'src/engine/executing.ts',
      from: 'return runClaimed(context, guarded, verdict, askedAt)',
      to: "return refusal(new HapaxError('idempotency_key_in_progress'))",
    },
    caughtBy: { case: 'two requests, one crash, one ambiguous commit' },
    says: /took its key, did nothing, and was refused with/,
  },
  {
    bug: 'a reservation whose reply was lost is not recognised',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "return current.state === 'in_progress' && current.claimId === reservation.claimId",
      to: "return current.state === 'in_progress' && reservation.claimId === ''",
    },
    caughtBy: { suite: 'a reservation whose reply was lost is recognised by its claim id, with the same fence' },
  },
  {
    bug: 'a request that does not fit renews the lease of the one that does',
    patch: {
      file: 'src/engine/transitions.ts',
      from: '  if (comparison !== undefined) return { verdict: comparison }\n',
      to: '  if (comparison !== undefined) return { verdict: comparison, next: leased(current, reservation.leaseMs, now) }\n',
    },
    caughtBy: { case: 'a request and another one under its key, one crash' },
    says: /was refused with idempotency_key_reused_with_different_payload, and changed \d+ rows/,
  },
  {
    bug: 'whoever meets a request that is under way renews its lease',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "if (leaseLeftMs > 0) return { verdict: { kind: 'in_progress', leaseLeftMs } }",
      to: "if (leaseLeftMs > 0) return { verdict: { kind: 'in_progress', leaseLeftMs }, next: leased(current, reservation.leaseMs, now) }",
    },
    caughtBy: { case: 'two requests, one crash, one ambiguous commit' },
    says: /was refused with idempotency_key_in_progress, and changed \d+ rows/,
  },
  {
    bug: 'whoever has lost its claim writes all the same',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'return current.fence === claim.fence && current.claimId === claim.claimId && current.generation === claim.generation',
      to: 'return current.generation === claim.generation',
    },
    caughtBy: { seeds: 6_000 },
    says: /a stale claim \(1, now 2\) changed/,
  },
  {
    bug: 'nobody goes on with what a crash has interrupted',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "if (record.state === 'in_progress') return record.onLeaseOver === 'resume' && (record.leaseUntil ?? 0) <= now",
      to: "if (record.state === 'in_progress') return record.onLeaseOver === 'resume' && (record.leaseUntil ?? 0) < 0",
    },
    caughtBy: { seeds: 3_000 },
    says: /^something is stuck: .* is in_progress/,
  },
  {
    bug: 'who was slow may not end the doubt about himself',
    patch: {
      file: 'src/engine/state.ts',
      from: "    from: 'unknown',\n    on: 'complete',\n    to: 'completed',",
      to: "    from: 'expired',\n    on: 'complete',\n    to: 'completed',",
    },
    caughtBy: { case: 'a holder that was stopped and goes on against the sweeper and a retry' },
    says: /the last holder of acme\/k1 was not let answer it/,
  },
  {
    bug: 'a renewal leaves the lease as it was',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "if (!holds(current, claim, 'renew')) return undefined\n  return leased(current, leaseMs, now)",
      to: "if (!holds(current, claim, 'renew')) return undefined\n  return leased(current, (current.leaseUntil ?? 0) - now + 0 * leaseMs, now)",
    },
    caughtBy: { case: 'the effect worker against one that was stopped and goes on' },
    says: /acme\/k1 is leased for -?\d+ ms only/,
  },
  {
    bug: 'a reservation that nobody heard of is not given back',
    patch: {
      file: 'src/engine/abandoned.ts',
      from: 'if (record?.claimId === unheard.claimId) await store.release(record)',
      to: 'void record',
    },
    caughtBy: { case: 'a reservation that nobody hears of against the sweeper, two lines broken' },
    says: /is in doubt, although nobody was asked for anything/,
  },
  {
    bug: 'a reservation that nobody heard of is given back once, and not when it lands again',
    patch: {
      file: 'src/engine/abandoned.ts',
      from: 'else await giveBack(unheard)',
      to: 'else {\n        await giveBack(unheard)\n        waiting.delete(unheard)\n      }',
    },
    caughtBy: { case: 'a reservation that nobody hears of against the sweeper, two lines broken' },
    says: /is in doubt, although nobody was asked for anything/,
  },
  {
    bug: 'who takes a key has it for a tenth of its lease',
    patch: {
      file: 'src/engine/next-record.ts',
      from: '    attempt: 1,\n    leaseUntil: now + reservation.leaseMs,',
      to: '    attempt: 1,\n    leaseUntil: now + reservation.leaseMs / 10,',
    },
    caughtBy: { seeds: 1_000 },
    says: /is leased for 3000 ms only/,
  },
  {
    bug: 'who says how far he is loses most of his lease',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'leaseUntil: now + step.leaseMs,',
      to: 'leaseUntil: now + step.leaseMs / 10,',
    },
    caughtBy: { seeds: 1_000 },
    says: /is leased for 3000 ms only/,
  },
  {
    bug: 'a lease that is over is found out ten hours later',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "record.onLeaseOver === 'doubt' && (record.leaseUntil ?? 0) <= now",
      to: "record.onLeaseOver === 'doubt' && (record.leaseUntil ?? 0) <= now - 36_000_000",
    },
    caughtBy: { seeds: 1_000 },
    says: /^something is stuck: .* is in_progress .*, for \d+ s/,
  },
  {
    bug: 'who was interrupted goes on ten hours later',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "return record.onLeaseOver === 'resume' && (record.leaseUntil ?? 0) <= now",
      to: "return record.onLeaseOver === 'resume' && (record.leaseUntil ?? 0) <= now - 36_000_000",
    },
    caughtBy: { seeds: 1_000 },
    says: /^something is stuck: .* is in_progress .*, for \d+ s/,
  },
  {
    bug: 'what may run again after a crash is in doubt all the same',
    patch: {
      file: 'src/engine/reserving.ts',
      from: "onLeaseOver: policy.onCrash === 'retry' ? 'resume' : 'doubt'",
      to: "onLeaseOver: policy.leaseMs < 0 ? 'resume' : 'doubt'",
    },
    caughtBy: {
      case: 'a handler that makes its call by itself, with a key of ours, against two retries, two crashes',
    },
    says: /is in doubt after a crash, although it may simply run again/,
  },
]
