-- The beginning of all scripts. Times and durations are doubles, in microseconds of the server's
-- clock; the time 0 is never. Formats in comments are those of struct.pack.
--
-- Whenever a script runs, Lua makes its functions, and an object for each local variable that a
-- function uses from outside. So functions use few of these, and math.max has no shorter name.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- server_id returns the first bytes of the replication id. A server has another one after each
-- restart and each failover, so a value that was written under another one might be old.
local function server_id()
  local info = redis.call('INFO', 'replication')
  local _, label_end = string.find(info, 'master_replid:', 1, true)
  return string.sub(info, label_end + 1, label_end + 8)
end

-- values are those of the keys, by position and by key, false for one that is missing or of another
-- type. All are read at once.
local values = redis.call('MGET', unpack(KEYS))
for i = 1, #KEYS do values[KEYS[i]] = values[i] end
