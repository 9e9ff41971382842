-- Adds a line to the log of a fleet and drops the oldest.
--
-- KEYS: the log, a sorted set by time. ARGV: the line, how many lines stay.
call('ZADD', KEYS[1], format('%.0f', now), format('%.0f', now) .. ' ' .. ARGV[1])
local old = call('ZRANGE', KEYS[1], 0, -1 - ARGV[2], 'WITHSCORES')
if #old > 0 then call('ZREMRANGEBYSCORE', KEYS[1], '-inf', old[#old]) end
return {}
