#!lua
-- Begins an epoch of the memory of a tag. That a server knows this text says
-- that it is the one on which the epoch began: scripts reach neither a
-- replica nor the disk. Workers of all releases that share the keys use this
-- text, so it changes only with their version.
--
-- KEYS: epoch. ARGV: nothing to look; or the name of the epoch that this
-- one follows, "" if none is known, and 1 if nothing can have been there before.
-- The epoch is a string: the name, the name before, and since when (in microseconds, 0
-- for ever) the memory is whole.
local name = 'EPOCH'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local epoch = redis.pcall('GET', KEYS[1])
local damaged = epoch and (type(epoch) == 'table' or not tonumber(string.sub(epoch, 33)))
if damaged then epoch = nil end
local before = ARGV[1]
if before and (not epoch or string.sub(epoch, 1, 16) == before) then
  local since = now
  if before == '' then
    before = string.rep('0', 16)
    if ARGV[2] == '1' and not damaged then since = 0 end
  end
  epoch = name .. before .. string.format('%.0f', since)
  redis.call('SET', KEYS[1], epoch)
end
return struct.pack('<d', now) .. (epoch or '')
