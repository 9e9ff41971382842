-- The beginning of all scripts. Times and durations are doubles, in microseconds of the server's
-- clock; the time 0 is never. Formats in comments are those of struct.pack.
local call, pack, unpick = redis.call, struct.pack, struct.unpack
local max, min, ceil, byte, sub, format = math.max, math.min, math.ceil, string.byte, string.sub, string.format
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

-- server_id returns the first bytes of the replication id. A server has another one after each
-- restart and each failover, so a value that was written under another one might be old.
local function server_id()
  local info = call('INFO', 'replication')
  local _, label_end = string.find(info, 'master_replid:', 1, true)
  return sub(info, label_end + 1, label_end + 8)
end

-- get returns the value of a key, false if it is missing or of another type. All keys are read
-- at once.
local values
local function get(key)
  if not values then
    values = {}
    for i, value in ipairs(call('MGET', unpack(KEYS))) do values[KEYS[i]] = value end
  end
  return values[key]
end

-- set writes a key that expires in some milliseconds.
local function set(key, value, ttl)
  if values then values[key] = value end
  call('SET', key, value, 'PX', format('%d', ttl))
end
