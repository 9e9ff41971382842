#!lua
-- Keeps a worker on the list and says how many there are, which of them it is,
-- and which server this is, as far as the user may know.
--
-- KEYS: workers, epoch. ARGV: the worker, and after how many microseconds of
-- silence one is gone.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local me, silence = ARGV[1], tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], string.format('%.0f', now), me)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - silence))
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + silence), '+inf') -- the clock was set back
local workers = redis.call('ZRANGE', KEYS[1], 0, -1)
local rank = 0
for i = 1, #workers do
  if workers[i] < me then rank = rank + 1 end
end
-- Every decision reads the epoch, and with it how many there are.
local count = string.format('%05d', math.min(#workers, 99999))
local epoch = redis.call('GET', KEYS[2])
if epoch and string.sub(epoch, 33, 37) ~= count then
  redis.call('SET', KEYS[2], string.sub(epoch, 1, 32) .. count .. string.sub(epoch, 38))
end
local identity = ''
for _, place in ipairs({{'server', 'run_id'}, {'replication', 'master_replid'}}) do
  local info = redis.pcall('INFO', place[1])
  if type(info) == 'string' then
    identity = identity .. ' ' .. (string.match(info, place[2] .. ':(%w+)') or '')
  end
end
return struct.pack('<ddd', now, #workers, rank) .. identity
