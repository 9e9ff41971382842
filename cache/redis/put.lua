-- ARGV: fence, the rest of the record, milliseconds to keep, key of the large bodies, they
-- or nothing.
local known = read()
if not known then return {LATER} end
if known.fence and less(ARGV[1], known.fence) then return {REFUSED} end
-- What can fail, for lack of memory or as the slot is on its way to another node, comes
-- first.
local keep = math.max(ARGV[3], KEEP)
if ARGV[5] ~= '' then
  redis.call('SET', ARGV[4], ARGV[5], 'PX', keep)
elseif known.place == IN_KEY then
  redis.pcall('DEL', ARGV[4])
end
local head = REST
if known.lease and (left(known, micros()) > 0 or less(ARGV[1], known.token)) then
  head = LEASED .. known.lease
end
redis.call('SET', KEYS[1], head .. ARGV[1] .. ARGV[2], 'PX', keep)
return {DONE}
