#!lua
-- Notes a heartbeat. Returns the time, how many workers there are, how many of them
-- stand before this one, 1 if an operator drains this one, and which server this is, as
-- far as the user may ask.
--
-- KEYS: workers, epoch, what this worker says of itself, whether it is drained. ARGV: the
-- worker; in microseconds after how long without a heartbeat a worker is gone, and for how
-- long after that its last one is kept; what it says of itself.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local me, timeout, keep = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local function number(n) return string.format('%.0f', n) end
local last = redis.pcall('ZSCORE', KEYS[1], me)
if type(last) == 'table' then
  if string.sub(last.err, 1, 9) ~= 'WRONGTYPE' then return last end
  redis.call('DEL', KEYS[1]) -- it is no list of workers
elseif last and now - last > timeout then
  -- Its heartbeats did not arrive. The same may be true of the others that are late.
  for _, w in ipairs(redis.call('ZRANGE', KEYS[1], number(last - timeout), number(now - timeout), 'BYSCORE')) do
    redis.call('ZADD', KEYS[1], number(now), w)
  end
end
redis.call('ZADD', KEYS[1], number(now), me)
redis.call('PSETEX', KEYS[3], math.ceil((timeout + keep) / 1000), ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. number(now - timeout - keep))
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. number(now + timeout), '+inf') -- the clock was set back
local workers = redis.call('ZRANGE', KEYS[1], number(now - timeout), '+inf', 'BYSCORE')
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
for _, field in ipairs({{'server', 'run_id'}, {'replication', 'master_replid'}}) do
  local info = redis.pcall('INFO', field[1])
  if type(info) == 'string' then
    identity = identity .. ' ' .. (string.match(info, field[2] .. ':(%w+)') or '')
  end
end
local drained = 0
if redis.call('GET', KEYS[4]) then
  drained = 1
  redis.call('PSETEX', KEYS[4], math.ceil((timeout + keep) / 1000), '1')
end
return struct.pack('<dddd', now, #workers, rank, drained) .. identity
