-- The beginning of all scripts. All times are microseconds of the server's clock; 0 is never.
local call, pack, unpick = redis.call, struct.pack, struct.unpack
local max, min, ceil, byte, sub, format = math.max, math.min, math.ceil, string.byte, string.sub, string.format
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
-- A server has another replication id after each restart and each failover. A value that was
-- written under another one might be old.
local function server_id()
  local info = call('INFO', 'replication')
  local _, before = string.find(info, 'master_replid:', 1, true)
  return sub(info, before + 1, before + 8)
end

-- get returns the value of a key, a damaged one if it has another type.
local function get(key)
  local value = redis.pcall('GET', key)
  return type(value) == 'table' and 'damaged' or value
end
