#!lua flags=allow-oom
-- Adds an entry to a log, and deletes the oldest entries.
--
-- KEYS: the log.
-- ARGV: [1] the entry. [2] how many entries stay.
-- Writes: the log, a sorted set by time.
-- Reply: '<dc8' time, server.
-- Repeated: adds the entry again.
local needs_server = true
--> head.lua
redis.call('ZADD', KEYS[1], string.format('%.0f', now), string.format('%.0f', now) .. ' ' .. ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[2])
return pack('<dc8', now, server)
