-- Adds an entry to a log, a sorted set by time, and deletes the oldest.
--
-- KEYS: the log. ARGV: the entry, how many entries stay.
call('ZADD', KEYS[1], format('%.0f', now), format('%.0f', now) .. ' ' .. ARGV[1])
call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[2])
return pack('<dc8', now, server)
