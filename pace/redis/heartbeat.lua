#!lua flags=allow-oom
-- Passes on the configuration, also to the workers that listen, and records a heartbeat of a worker
-- in one part of the keys.
--
-- KEYS: the configuration; and for a heartbeat the workers of the part, and this worker.
-- ARGV: [1] the configuration that the caller knows, "" for none. For a heartbeat also [2] the id of
-- this worker, 5 bytes; [3] '<ddd' how long without a heartbeat a worker is gone, how long after that
-- it is listed, how long ago the last heartbeat was answered, below 0 for never; [4] its report.
-- Writes: the configuration with the higher version, and publishes it; the heartbeat.
-- Reply: '<dc8d' time, server, length of the configuration; the configuration with the higher
-- version, "" for a worker that knows it; '<c5d' of each worker that is gone its id and for how long.
-- Repeated: changes nothing but the time of the heartbeat.
local needs_server = true
--> head.lua
local known_config, worker = ARGV[1], ARGV[2]
local key = KEYS[1]
--> get.lua
value = value or '' -- the server that the last heartbeat has reached, and the configuration
local config = string.sub(value, 9)
if not string.find(config, '^%d%d%d%d%d%d%d%d%d%d ') then config = '' end
-- Of changes made at the same time an operator's second one is refused, and workers agree.
if string.sub(known_config, 1, 10) > string.sub(config, 1, 10) or worker and known_config > config then config = known_config end
local reached = (worker or value == '') and server or string.sub(value, 1, 8)
if reached .. config ~= value and (worker or known_config ~= '') then
  redis.call('SET', KEYS[1], reached .. config)
  if config ~= string.sub(value, 9) then redis.call('PUBLISH', (string.gsub(KEYS[1], '{.*}:', '')), config) end
end
if worker and config == known_config then config = '' end
local reply = {pack('<dc8d', now, server, #config), config}
if not worker then return table.concat(reply) end

local timeout, keep, answered_ago = unpack('<ddd', ARGV[3])
local function number(t) return string.format('%.0f', t) end
local last = redis.pcall('ZSCORE', KEYS[2], worker) -- the last heartbeat of this worker
if type(last) == 'table' then -- the key has another type
  redis.call('DEL', KEYS[2])
  last = nil
end
last = last and tonumber(last)
local missing = answered_ago >= 0 and (not last or last > now or now - last > math.min(answered_ago + 1000000, timeout))
if string.sub(value, 1, 8) ~= server or missing then
  -- The list is old, the clock was set, or heartbeats did not arrive, perhaps those of others too.
  for _, listed in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do redis.call('ZADD', KEYS[2], number(now), listed) end
end
redis.call('ZADD', KEYS[2], number(now), worker)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. number(now - timeout - keep))
redis.call('SET', KEYS[3], ARGV[4], 'PX', string.format('%d', (timeout + keep) / 1000))
local gone = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. number(now - timeout), 'WITHSCORES')
for i = 1, #gone, 2 do
  reply[#reply + 1] = gone[i] .. pack('<d', now - timeout - gone[i + 1])
end
return table.concat(reply)
