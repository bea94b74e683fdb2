import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const reserve = script(
  'reserve',
  `--[=[ reserve: takes the key, or says what it holds.
  KEYS  the root; the record
  ARGV  scope key claimId operation fingerprints leaseMs [retentionMs] tombstoneMs onLeaseOver onExpired onNew
        [progress] [trace]
  gives { kind, number }: a verdict, with its generation, or how much of a lease or until a look is left, or the time;
        { kind, number, record } where the verdict has one; { 'incomparable', recipe, operation }
]=]`,
  given,
  records,
  `
local function taken(kind, record)
  return { kind, digits(now), redis.call('HGETALL', addressOf(record.digest)) }
end

local function fresh(id, generation, fence)
  return taken('reserved', save(nil, {
    id = id, scope = given.scope, key = given.key, digest = string.sub(KEYS[2], -32),
    generation = generation, fence = fence, claimId = given.claimId, state = 'in_progress',
    operation = given.operation, fingerprint = string.match(given.fingerprints, '[^\\n]+'), attempt = 1,
    leaseUntil = now + number('leaseMs'), onLeaseOver = given.onLeaseOver, recoveryPoint = 'started',
    progress = given.progress, looks = 0, evidence = '[]', trace = given.trace, createdAt = now, lastRunAt = now,
    expiresAt = given.retentionMs and now + number('retentionMs'), retentionMs = number('retentionMs'),
    tombstoneMs = number('tombstoneMs'),
  }))
end

local function claimedAnew(record)
  local retentionMs = false
  if record.retentionMs and given.retentionMs then
    retentionMs = math.max(record.retentionMs, number('retentionMs'))
  end
  -- What is true of a phase is on record; before the first of them, the caller says what a crash would mean.
  local isPhase = redis.call('HEXISTS', addressOf(record.digest), 'progress') == 1
  return taken('resumed', save(record, {
    retentionMs = retentionMs, tombstoneMs = math.max(record.tombstoneMs, number('tombstoneMs')),
    expiresAt = retained(retentionMs), leaseUntil = now + number('leaseMs'), state = 'in_progress',
    fence = record.fence + 1, claimId = given.claimId, attempt = record.attempt + 1,
    onLeaseOver = isPhase and record.onLeaseOver or given.onLeaseOver,
    errorCode = false, reconcileAfter = false, looks = 0, trace = given.trace or false, lastRunAt = now,
  }))
end

local function recipeOf(fingerprint) return string.match(fingerprint, '^(.*):') or '' end

-- Whether this is another request than the record was made for, or cannot be told to be the same.
local function compared(record)
  local kind = 'incomparable'
  for candidate in string.gmatch(given.fingerprints, '[^\\n]+') do
    if candidate == record.fingerprint then return nil end
    if recipeOf(candidate) == recipeOf(record.fingerprint) then kind = 'mismatched' end
  end
  return { kind, recipeOf(record.fingerprint), record.operation }
end

local record = found(KEYS[2])
if not record then
  if given.onNew == 'tell' then return { 'new' } end
  return fresh(redis.call('HINCRBY', root, 'lastId', 1), 1, 1)
end
if isExpired(record) then
  if given.onExpired == 'refuse' then return { 'expired', digits(record.generation) } end
  if given.onNew == 'tell' then return { 'new' } end
  remove(record)
  return fresh(record.id, record.generation + 1, record.fence + 1)
end
local other = compared(record)
if other then return other end
if record.state == 'in_progress' and record.claimId == given.claimId then
  return taken(record.attempt == 1 and 'reserved' or 'resumed', save(record, { leaseUntil = now + number('leaseMs') }))
end
if record.state == 'completed' then return taken('completed', record) end
if record.state == 'unknown' then
  return { 'unknown', digits(math.max(0, (record.reconcileAfter or now) - now)) }
end
if record.state == 'failed_retryable' then return claimedAnew(record) end
if record.leaseUntil > now then return { 'in_progress', digits(record.leaseUntil - now) } end
if record.onLeaseOver == 'resume' then return claimedAnew(record) end
save(record, swept())
return { 'swept', '0' }
`,
)
