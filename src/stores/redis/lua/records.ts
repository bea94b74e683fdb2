/**
 * Records, each a hash, and every index that leads to one. All indexes follow from the record itself: `save` and `remove`
 * are the only writers, and move a record from where it stood to where it stands now.
 */
export const records = `
local texts = { 'scope', 'key', 'digest', 'claimId', 'state', 'operation', 'fingerprint', 'onLeaseOver',
  'recoveryPoint', 'evidence', 'answerKind' }
local numbers = { 'id', 'generation', 'fence', 'attempt', 'leaseUntil', 'isBegun', 'answerBytes', 'reconcileAfter',
  'doubtedAt', 'lastRunAt', 'expiresAt', 'retentionMs', 'tombstoneMs' }

local function addressOf(digest) return root .. ':record:' .. digest end
-- The name of a record in an index ends with its digest.
local function addressAt(place) return addressOf(string.sub(place, -32)) end
local function tenantOf(scope) return string.match(scope, '^[^;]*') end

-- All of it but the bytes that nobody judges by.
local function found(address)
  local values = redis.call('HMGET', address, unpack(texts))
  if not values[1] then return nil end
  local record = {}
  for i, name in ipairs(texts) do record[name] = values[i] or nil end
  values = redis.call('HMGET', address, unpack(numbers))
  for i, name in ipairs(numbers) do record[name] = values[i] and tonumber(values[i]) or nil end
  return record
end

local function nothingCommitted(record)
  return record.recoveryPoint == 'started' and not record.isBegun
end

-- When it expires by itself; nil for what never does.
local function expiryOf(record)
  local ends = record.state == 'completed' or (record.state == 'failed_retryable' and nothingCommitted(record))
  return ends and record.expiresAt or nil
end

local function isExpired(record)
  local expiry = expiryOf(record)
  return record.state == 'expired' or (expiry ~= nil and expiry <= now)
end

-- Where it stands while it may go on, with the operation whose workers go on with it: a failure that says no time has none.
local function unfinishedPlaceOf(record, name)
  local mayResume = record.state == 'in_progress' and record.onLeaseOver == 'resume'
  local isHalfDone = record.state == 'failed_retryable' and not nothingCommitted(record)
  if not (record.expiresAt and (mayResume or isHalfDone)) then return nil end
  local operation = (mayResume or record.reconcileAfter) and record.operation or ''
  return { operation .. '\\n' .. name, record.expiresAt }
end

-- Where a record stands: by index, its member there, its score, and what it adds to the bytes of its tenant.
local function placesOf(record)
  local name = padded(record.id) .. record.digest
  local tenant = tenantOf(record.scope)
  local places = {
    [root .. ':all'] = { name, 0 },
    [root .. ':tenant:' .. tenant] = { record.scope .. '\\n' .. name, 0 },
    [root .. ':keys'] = { record.key .. '\\n' .. name, 0 },
  }
  if record.state == 'in_progress' then
    places[root .. ':leases'] = { padded(record.leaseUntil) .. name, 0 }
    places[root .. ':running'] = { name, record.lastRunAt }
    if record.onLeaseOver == 'doubt' then
      places[root .. ':overdue'] = { name, record.leaseUntil }
    else
      places[root .. ':interrupted:' .. record.operation] = { name, record.leaseUntil }
    end
  elseif record.state == 'failed_retryable' then
    places[root .. ':failed_retryable'] = { name, 0 }
    if record.reconcileAfter then
      places[root .. ':interrupted:' .. record.operation] = { name, record.reconcileAfter }
    end
  elseif record.state == 'unknown' then
    places[root .. ':unknown'] = { name, 0 }
    places[root .. ':doubted'] = { name, record.doubtedAt }
    if record.reconcileAfter then
      places[root .. ':doubts:' .. record.operation] = { name, record.reconcileAfter }
    else
      places[root .. ':left'] = { name, 0 }
    end
  elseif record.state == 'expired' and record.expiresAt then
    places[root .. ':tombstones'] = { name, record.expiresAt + record.tombstoneMs }
  end
  places[root .. ':unfinished'] = unfinishedPlaceOf(record, name)
  local expiry = expiryOf(record)
  if expiry then places[root .. ':expiring'] = { name, expiry } end
  if record.state ~= 'expired' then
    local bytes = record.answerKind == 'kept' and record.answerBytes or 0
    places[root .. ':use:' .. tenant] = { name .. ':' .. digits(bytes), expiry or '+inf', bytes }
  end
  return places
end

local function moved(tenant, before, after)
  for index, was in pairs(before) do
    local is = after[index]
    if not (is and is[1] == was[1]) and redis.call('ZREM', index, was[1]) == 1 and was[3] then
      redis.call('HINCRBY', root .. ':bytes', tenant, digits(0 - was[3]))
    end
  end
  for index, is in pairs(after) do
    local was = before[index]
    if not (was and was[1] == is[1] and was[2] == is[2]) then
      local score = type(is[2]) == 'number' and digits(is[2]) or is[2]
      if redis.call('ZADD', index, score, is[1]) == 1 and is[3] then
        redis.call('HINCRBY', root .. ':bytes', tenant, digits(is[3]))
      end
    end
  end
end

-- Writes what changes, of no record a new one; false takes a field away.
local function save(record, changes)
  local becomes, set, gone = {}, {}, {}
  for name, value in pairs(record or {}) do becomes[name] = value end
  changes.version = redis.call('HINCRBY', root, 'writes', 1)
  for name, value in pairs(changes) do
    becomes[name] = value or nil
    if value == false then
      gone[#gone + 1] = name
    else
      set[#set + 1] = name
      set[#set + 1] = type(value) == 'number' and digits(value) or value
    end
  end
  local address = addressOf(becomes.digest)
  redis.call('HSET', address, unpack(set))
  if #gone > 0 then redis.call('HDEL', address, unpack(gone)) end
  local tenant = tenantOf(becomes.scope)
  if not record then redis.call('ZADD', root .. ':tenants', 0, tenant) end
  moved(tenant, record and placesOf(record) or {}, placesOf(becomes))
  return becomes
end

local function remove(record)
  local tenant = tenantOf(record.scope)
  moved(tenant, placesOf(record), {})
  redis.call('DEL', addressOf(record.digest))
  if redis.call('EXISTS', root .. ':tenant:' .. tenant) == 0 then
    redis.call('ZREM', root .. ':tenants', tenant)
    redis.call('HDEL', root .. ':bytes', tenant)
  end
end

local function retained(retentionMs) return retentionMs and now + retentionMs or false end

-- What a record that nobody holds any more is like. Its fence stays.
local function idle(state, changes)
  changes.state = state
  changes.leaseUntil = false
  changes.looks = 0
  if changes.reconcileAfter == nil then changes.reconcileAfter = false end
  if changes.doubtedAt == nil then changes.doubtedAt = false end
  return changes
end

local function doubted(reconcileAfter, errorCode)
  return idle('unknown', { errorCode = errorCode, reconcileAfter = reconcileAfter, doubtedAt = now })
end
local function swept() return doubted(now, 'in_progress_lock_expired') end

-- What the answer that was given makes of a record.
local function completed(record)
  return idle('completed', {
    recoveryPoint = 'finished', progress = false, isBegun = false, errorCode = false, completedAt = now,
    expiresAt = retained(record.retentionMs),
    answerKind = given.answerKind, answerStatus = number('answerStatus'), answerHeaders = given.answerHeaders,
    answerBytes = number('answerBytes'), answerVersion = number('answerVersion'),
    body = given.body or false, location = given.location or false,
  })
end

local function withoutAnswer(changes)
  for _, name in ipairs({ 'answerKind', 'answerStatus', 'answerHeaders', 'answerBytes', 'answerVersion', 'body',
    'location', 'progress' }) do
    changes[name] = false
  end
  return changes
end

-- The claim that was given is the last one of this record.
local function isLastClaim(record)
  return record and record.fence == number('fence') and record.claimId == given.claimId
    and record.generation == number('generation')
end

-- Nobody has claimed it since whoever asks has seen it.
local function isLast(record)
  return record and record.generation == number('generation')
    and (not given.fence or record.fence == number('fence'))
end

-- Up to so many records at an index whose time has come, first those that were due first.
local function due(indexes, limit)
  local places = {}
  for _, index in ipairs(indexes) do
    local range = redis.call('ZRANGEBYSCORE', index, '-inf', digits(now), 'WITHSCORES', 'LIMIT', 0, limit)
    for i = 1, #range, 2 do places[#places + 1] = { range[i], tonumber(range[i + 1]) } end
  end
  table.sort(places, function(a, b)
    if a[2] ~= b[2] then return a[2] < b[2] end
    return a[1] < b[1]
  end)
  local addresses = {}
  for i = 1, math.min(#places, tonumber(limit)) do addresses[i] = addressAt(places[i][1]) end
  return addresses
end

local function indexesOf(kind)
  local indexes = {}
  for operation in string.gmatch(given.operations or '', '[^\\n]+') do
    indexes[#indexes + 1] = root .. ':' .. kind .. ':' .. operation
  end
  return indexes
end
`
