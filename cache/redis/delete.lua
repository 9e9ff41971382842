-- The last token is kept, and the lock in force.
local known = read()
if not known then return {LATER} end
if known.token and known.token ~= NONE then
  redis.call('SET', KEYS[1], LOCKED .. (known.lock or known.token .. NONE), 'PX', KEEP)
else
  redis.call('DEL', KEYS[1])
end
return {DONE}
