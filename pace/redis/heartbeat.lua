-- Notes a heartbeat. Returns the time, how many workers there are, how many of them stand
-- before this one, 1 if it was on the list, 1 if an operator drains it; then of each that
-- is gone its name and for how long it is. A worker whose kind of pace is not that of the
-- others gets the error MIXED with the kind of these, and is on no list.
--
-- KEYS: workers; what this worker says of itself, and whether it is drained; the kind of the
-- pace, and who was turned away. ARGV: the worker, 5 bytes; in microseconds after how long
-- without a heartbeat a worker is gone, and for how long after that it is known to be; what
-- it says of itself; its kind of pace, empty if it takes no grants.
local me, timeout, keep, kind = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[5]
local function number(n) return format('%.0f', n) end
if kind ~= '' then
  local others = redis.pcall('GET', KEYS[4])
  if others ~= kind and (others == 'shared' or others == 'leased') then
    call('PSETEX', KEYS[5], ceil((timeout + keep) / 1000), kind .. ' ' .. ARGV[4])
    return redis.error_reply('MIXED ' .. others)
  end
  call('PSETEX', KEYS[4], ceil((timeout + keep) / 1000), kind)
end
local last = redis.pcall('ZSCORE', KEYS[1], me)
if type(last) == 'table' then
  if sub(last.err, 1, 9) ~= 'WRONGTYPE' then return last end
  call('DEL', KEYS[1]) -- it is no list of workers
  last = false
elseif last and now - last > timeout then
  -- Its heartbeats did not arrive. The same may be true of the others that are late.
  for _, w in ipairs(call('ZRANGE', KEYS[1], number(last - timeout), number(now - timeout), 'BYSCORE')) do
    call('ZADD', KEYS[1], number(now), w)
  end
end
call('ZADD', KEYS[1], number(now), me)
call('PSETEX', KEYS[2], ceil((timeout + keep) / 1000), ARGV[4])
call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. number(now - timeout - keep))
call('ZREMRANGEBYSCORE', KEYS[1], '(' .. number(now + timeout), '+inf') -- the clock was set back
local workers, rank, reply = 0, 0, {''}
local all = call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do
  local late = now - timeout - all[i + 1]
  if late <= 0 then
    workers = workers + 1
    if all[i] < me then rank = rank + 1 end
  elseif #all[i] == 5 then
    reply[#reply + 1] = all[i] .. pack('<d', late)
  end
end
local drained = call('GET', KEYS[3])
if drained then call('PSETEX', KEYS[3], ceil((timeout + keep) / 1000), '1') end
reply[1] = pack('<ddddd', now, workers, rank, last and 1 or 0, drained and 1 or 0)
return table.concat(reply)
