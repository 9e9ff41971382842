-- Adds a line to the log of a fleet and drops the oldest.
--
-- KEYS: the log, a sorted set by time. ARGV: the line, how many lines stay.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZADD', KEYS[1], string.format('%.0f', now), string.format('%.0f', now) .. ' ' .. ARGV[1])
local old = redis.call('ZRANGE', KEYS[1], 0, -1 - ARGV[2], 'WITHSCORES')
if #old > 0 then redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', old[#old]) end
return {}
