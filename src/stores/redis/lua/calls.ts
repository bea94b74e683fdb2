/** Calls to the outside, each a hash that is found by the downstream key that it carried, and what was said about them. */
export const calls = `
local function callAt(key) return root .. ':call:' .. key end

local function callOf(key)
  local values = redis.call('HMGET', callAt(key), 'id', 'begunAt', 'recordId', 'digest')
  if not values[1] then return nil end
  return { key = key, id = tonumber(values[1]), begunAt = tonumber(values[2]), recordId = tonumber(values[3]),
    digest = values[4] }
end

-- Calls stand in the order in which they began, all of them and those of each record.
local function indexed(command, call)
  local place = padded(call.begunAt) .. padded(call.id) .. call.key
  for _, index in ipairs({ root .. ':calls', root .. ':calls-of:' .. digits(call.recordId) }) do
    if command == 'ZADD' then redis.call('ZADD', index, 0, place) else redis.call('ZREM', index, place) end
  end
end

-- Marks the call that was given, if one was, in the same step as its record.
local function mark(record)
  if not given.callKind then return end
  local call = callOf(given.callKey)
  if given.callKind ~= 'begun' then
    if call then redis.call('HSET', callAt(call.key), 'state', given.callKind) end
    return
  end
  local begunAt = now
  if call then
    indexed('ZREM', call)
    if call.recordId == record.id then begunAt = call.begunAt end
  else
    call = { key = given.callKey, id = redis.call('HINCRBY', root, 'lastCallId', 1) }
    redis.call('HSET', callAt(call.key), 'id', digits(call.id), 'key', call.key, 'scope', record.scope,
      'operation', record.operation, 'phase', given.callPhase)
  end
  call.begunAt = begunAt
  call.recordId = record.id
  redis.call('HSET', callAt(call.key), 'generation', digits(record.generation), 'state', 'begun',
    'begunAt', digits(begunAt), 'recordId', digits(record.id), 'digest', record.digest)
  indexed('ZADD', call)
end

local function unsaid(id, key)
  redis.call('DEL', root .. ':said:' .. id)
  redis.call('ZREM', root .. ':said-of:' .. key, id)
  redis.call('ZREM', root .. ':unheard', id)
end

-- What hangs on a record that goes. What was said about its calls goes with a tombstone, and stays with a release.
local function forget(record, testimonies)
  local index = root .. ':calls-of:' .. digits(record.id)
  for _, place in ipairs(redis.call('ZRANGE', index, 0, -1)) do
    local key = string.sub(place, 33)
    redis.call('DEL', callAt(key))
    redis.call('ZREM', root .. ':calls', place)
    if testimonies == 'go' then
      for _, id in ipairs(redis.call('ZRANGE', root .. ':said-of:' .. key, 0, -1)) do unsaid(id, key) end
    end
  end
  redis.call('DEL', index)
end
`
