-- ARGV: fence, the rest of the record, milliseconds to keep.
local known = read()
if not known then return {LATER} end
if known.fence and less(ARGV[1], known.fence) then return {REFUSED} end
local head = REST
if known.lock and (left(known, micros()) > 0 or less(ARGV[1], known.token)) then
  head = LOCKED .. known.lock
end
redis.call('SET', KEYS[1], head .. ARGV[1] .. ARGV[2], 'PX', math.max(ARGV[3], KEEP))
return {DONE}
