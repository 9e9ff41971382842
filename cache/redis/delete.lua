-- ARGV: key of the large bodies. The last token is kept, and the lease in force.
local known = read()
if not known then return {LATER} end
if known.place == IN_KEY then redis.pcall('DEL', ARGV[1]) end
if known.token and known.token ~= NONE then
  redis.call('SET', KEYS[1], LEASED .. (known.lease or known.token .. NONE .. NONE), 'PX', KEEP)
else
  redis.call('DEL', KEYS[1])
end
return {DONE}
