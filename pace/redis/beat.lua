#!lua
-- Keeps a worker on the list and says how many there are, which of them it is,
-- and which server this is, as far as the user may know.
--
-- KEYS: workers, epoch. ARGV: the worker; in microseconds after how much silence one
-- is gone, and for how long its last beat is known after that.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local me, silence, known = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local function number(n) return string.format('%.0f', n) end
local last = redis.pcall('ZSCORE', KEYS[1], me)
if type(last) == 'table' then
  if string.sub(last.err, 1, 9) ~= 'WRONGTYPE' then return last end
  redis.call('DEL', KEYS[1]) -- it is no list of workers
elseif last and now - last > silence then
  -- This one could not be heard, and does not know of whom else that is true.
  for _, w in ipairs(redis.call('ZRANGE', KEYS[1], number(last - silence), number(now - silence), 'BYSCORE')) do
    redis.call('ZADD', KEYS[1], number(now), w)
  end
end
redis.call('ZADD', KEYS[1], number(now), me)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. number(now - silence - known))
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. number(now + silence), '+inf') -- the clock was set back
local workers = redis.call('ZRANGE', KEYS[1], number(now - silence), '+inf', 'BYSCORE')
local rank = 0
for i = 1, #workers do
  if workers[i] < me then rank = rank + 1 end
end
-- Every decision reads the epoch, and with it how many there are.
local count = string.format('%05d', math.min(#workers, 99999))
local epoch = redis.pcall('GET', KEYS[2])
if type(epoch) == 'string' and #epoch > 37 and string.sub(epoch, 33, 37) ~= count then
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
