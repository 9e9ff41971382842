-- Returns the time, and the values of keys of one tag as of one moment.
--
-- KEYS: what is looked at.
local time = redis.call('TIME')
local reply = {struct.pack('<d', time[1] * 1000000 + time[2])}
for i, key in ipairs(KEYS) do
  local value = redis.pcall('GET', key)
  reply[i + 1] = type(value) == 'string' and value or ''
end
return reply
