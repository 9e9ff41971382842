-- Reads a key.
--
-- Takes key. Sets value, false if the key is missing or of another type.
local value = redis.pcall('GET', key)
if type(value) == 'table' then
  if not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
  value = false
end
