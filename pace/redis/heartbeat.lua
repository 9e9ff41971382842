-- Notes a heartbeat in one part of the keys.
--
-- KEYS: the configuration, the workers, this worker. ARGV: this worker in 5 bytes; doubles: how
-- long without a heartbeat a worker is gone, how long after that it is listed, and how long ago
-- the last heartbeat was answered, below 0 for never; whether the worker is drained and since
-- when, in 17 characters; its description; the configuration it knows, "" for none.
--
-- The reply is the time, the server, the number of workers, that of characters of the
-- configuration; the later drain state, the later configuration; and of each worker that is gone
-- its id and for how long.
local timeout, keep, ago = unpick('<ddd', ARGV[2])
local drained, known = ARGV[3], ARGV[5]
local function number(t) return format('%.0f', t) end
local value = get(KEYS[1]) or ''
local config = sub(value, 9)
if not string.find(config, '^%d%d%d%d%d%d%d%d%d%d ') then config = '' end
if known > config then config = known end
if server .. config ~= value then call('SET', KEYS[1], server .. config) end

local last = redis.pcall('ZSCORE', KEYS[2], ARGV[1])
if type(last) == 'table' then
  call('DEL', KEYS[2])
  last = nil
end
last = last and tonumber(last)
if sub(value, 1, 8) ~= server or ago >= 0 and (not last or last > now or now - last > min(ago + 1000000, timeout)) then
  -- The list is old, the clock was set, or heartbeats did not arrive, perhaps those of others too.
  for _, w in ipairs(call('ZRANGE', KEYS[2], 0, -1)) do call('ZADD', KEYS[2], number(now), w) end
end
call('ZADD', KEYS[2], number(now), ARGV[1])
call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. number(now - timeout - keep))
local was = sub(get(KEYS[3]) or '', 1, 17)
if #was == 17 and sub(was, 2) > sub(drained, 2) then drained = was end
call('SET', KEYS[3], drained .. ARGV[4], 'PX', format('%d', (timeout + keep) / 1000))

local reply = {pack('<dc8dd', now, server, call('ZCARD', KEYS[2]), #config), drained, config}
local late = call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. number(now - timeout), 'WITHSCORES')
for i = 1, #late, 2 do
  reply[#reply + 1] = late[i] .. pack('<d', now - timeout - late[i + 1])
end
return table.concat(reply)
