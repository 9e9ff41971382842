-- Returns the time, and the values of keys of one tag as of one moment.
--
-- KEYS: what is looked at.
local reply = {pack('<d', now)}
for i, key in ipairs(KEYS) do
  local value = redis.pcall('GET', key)
  reply[i + 1] = type(value) == 'string' and value or ''
end
return reply
