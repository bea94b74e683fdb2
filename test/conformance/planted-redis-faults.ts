/** What a careless author might write into the scripts of the Redis store: one edit of their text each. */
export interface PlantedRedisFault {
  readonly fault: string
  /** A case that must find it. Others may find it too. */
  readonly caughtBy: string
  readonly from: string
  readonly to: string
}

export const plantedRedisFaults: readonly PlantedRedisFault[] = [
  {
    fault: 'ignores the fence',
    caughtBy: 'the right claim id with the wrong fence can change nothing',
    from: "record and record.fence == number('fence') and",
    to: 'record and',
  },
  {
    fault: 'ignores the claim id',
    caughtBy: 'the right fence with the wrong claim id can change nothing',
    from: 'and record.claimId == given.claimId',
    to: '',
  },
  {
    fault: 'ignores the generation of a claim',
    caughtBy: 'the right claim id and fence in the wrong generation can change nothing',
    from: "record.claimId == given.claimId\n    and record.generation == number('generation')",
    to: 'record.claimId == given.claimId',
  },
  {
    fault: 'does not recognise its own reservation',
    caughtBy: 'a reservation whose reply was lost is recognised by its claim id, with the same fence',
    from: "record.state == 'in_progress' and record.claimId == given.claimId",
    to: 'false',
  },
  {
    fault: 'leaves expiry to the reaper',
    caughtBy: 'an answer is replayed to the last millisecond and is expired at its deadline, though no reaper ran',
    from: "return record.state == 'expired' or (expiry ~= nil and expiry <= now)",
    to: "return record.state == 'expired'",
  },
  {
    fault: 'lets half-done work expire',
    caughtBy: 'half-done work never expires',
    from: "(record.state == 'failed_retryable' and nothingCommitted(record))",
    to: "record.state == 'failed_retryable'",
  },
  {
    fault: 'judges by another clock than the one that is pinned',
    caughtBy: 'a caller whose clock is an hour wrong writes the time of the store',
    from: "redis.call('HGET', root, 'pinnedAt') or time()",
    to: 'time()',
  },
  {
    fault: 'leaves a claim that ended where claims are swept',
    caughtBy: 'a sweep takes at most as many as it was told, and the next ones take the rest',
    from: "redis.call('ZREM', index, was[1]) == 1",
    to: "index ~= root .. ':overdue' and redis.call('ZREM', index, was[1]) == 1",
  },
  {
    fault: 'takes a doubt without putting it off',
    caughtBy: 'of nodes that look for doubts at once each doubt comes to one',
    from: "save(found(address), { reconcileAfter = now + number('holdMs') })",
    to: '',
  },
  {
    fault: 'abandons what workers go on with',
    caughtBy: 'what workers go on with is left to them, and to a person where none knows its operation',
    from: 'and not isOurs(place) and',
    to: 'and',
  },
  {
    fault: 'abandons what goes on later',
    caughtBy: 'a claim that may run again is left to a person at its retention, once its lease is over',
    from: 'if record and isDue(record)',
    to: 'if record',
  },
  {
    fault: 'abandons what left nothing behind',
    caughtBy:
      'nobody is asked about what is over, in doubt, kept for ever, left to the sweeper, or left nothing behind',
    from: "record.state == 'failed_retryable' and not nothingCommitted(record)",
    to: "record.state == 'failed_retryable'",
  },
  {
    fault: 'looks for what nobody goes on with no further than what workers go on with',
    caughtBy: 'to abandon is not held up by what it must leave alone',
    from: 'until #unfinished == limit or #places < limit',
    to: 'until true',
  },
  {
    fault: 'takes a failure that no worker goes on with any more for one that they do',
    caughtBy: 'a failure that no worker goes on with any more is left to a person, whatever its operation',
    from: "(mayResume or record.reconcileAfter) and record.operation or ''",
    to: 'record.operation',
  },
  {
    fault: 'lets whoever said that it failed complete it after all',
    caughtBy: 'whoever said that it failed can change nothing once that was abandoned',
    from: "if record.state == 'failed_retryable' then changes.claimId = '' end",
    to: '',
  },
  {
    fault: 'lets evidence leave the last claim alive',
    caughtBy: 'the last claim can change nothing once its doubt was settled as not landed',
    from: "changes.claimId = ''",
    to: '',
  },
  {
    fault: 'forgets the key whenever it is released',
    caughtBy: 'a key that is released after it had expired keeps its generation',
    from: 'elseif record.generation > 1 then',
    to: 'elseif false then',
  },
  {
    fault: 'counts what has expired',
    caughtBy: 'whatever state a key is in, it counts until it is free again',
    from: "redis.call('ZREM', index, member)",
    to: '',
  },
  {
    fault: 'forgets to take the bytes of an answer out of the count',
    caughtBy: 'a tombstone does not count, and a key used anew does',
    from: "redis.call('HINCRBY', root .. ':bytes', tenant, digits(0 - was[3]))",
    to: '',
  },
  {
    fault: 'writes to the audit log without looking where it ends',
    caughtBy: 'of twenty writers at once, on two nodes, each has its place in one chain',
    from: "if (redis.call('HGET', root, 'auditHash') or '') ~= given.hash then return nil end",
    to: '',
  },
]
