-- Passes on the configuration, also to the workers that listen, and notes a heartbeat in one part
-- of the keys.
--
-- KEYS: the configuration, and for a heartbeat the workers and this worker. ARGV: the
-- configuration that the caller knows, "" for none; and for a heartbeat this worker in 5 bytes;
-- doubles: how long without a heartbeat a worker is gone, how long after that it is listed, and
-- how long ago the last heartbeat was answered, below 0 for never; its description.
--
-- The reply is the time, the server, the length of the configuration, the configuration with the
-- higher version, "" for a worker that knows it; and of each worker that is gone its id and for
-- how long.
local known, worker = ARGV[1], ARGV[2]
local value = get(KEYS[1]) or ''
local config = sub(value, 9)
if not string.find(config, '^%d%d%d%d%d%d%d%d%d%d ') then config = '' end
-- Of changes made at the same time an operator's second one is refused, and workers agree.
if sub(known, 1, 10) > sub(config, 1, 10) or worker and known > config then config = known end
-- A value names the server that the last heartbeat has reached.
local reached = (worker or value == '') and server or sub(value, 1, 8)
if reached .. config ~= value and (worker or known ~= '') then
  call('SET', KEYS[1], reached .. config)
  if config ~= sub(value, 9) then call('PUBLISH', (string.gsub(KEYS[1], '{.*}:', '')), config) end
end
if worker and config == known then config = '' end
local reply = {pack('<dc8d', now, server, #config), config}
if not worker then return table.concat(reply) end

local timeout, keep, ago = unpick('<ddd', ARGV[3])
local function number(t) return format('%.0f', t) end
local last = redis.pcall('ZSCORE', KEYS[2], worker)
if type(last) == 'table' then
  call('DEL', KEYS[2])
  last = nil
end
last = last and tonumber(last)
if sub(value, 1, 8) ~= server or ago >= 0 and (not last or last > now or now - last > min(ago + 1000000, timeout)) then
  -- The list is old, the clock was set, or heartbeats did not arrive, perhaps those of others too.
  for _, w in ipairs(call('ZRANGE', KEYS[2], 0, -1)) do call('ZADD', KEYS[2], number(now), w) end
end
call('ZADD', KEYS[2], number(now), worker)
call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. number(now - timeout - keep))
call('SET', KEYS[3], ARGV[4], 'PX', format('%d', (timeout + keep) / 1000))
local late = call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. number(now - timeout), 'WITHSCORES')
for i = 1, #late, 2 do
  reply[#reply + 1] = late[i] .. pack('<d', now - timeout - late[i + 1])
end
return table.concat(reply)
