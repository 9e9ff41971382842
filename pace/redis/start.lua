#!lua
-- Takes the next fetch of robots.txt from an address and says how far off it is.
-- These have nothing to do with the pages of the address, and a start is not
-- given back: one that is not used costs the others an interval.
--
-- KEYS: the fetches of the address. ARGV: their interval in microseconds.
-- The value is when the last one starts, in microseconds of the server's clock.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval = tonumber(ARGV[1])
local last = redis.pcall('GET', KEYS[1])
last = type(last) == 'string' and tonumber(last) or nil
local start = now
if last then
  -- Each worker takes one at a time. A last start further off than a thousand of
  -- them is one of a clock that was set back.
  start = math.max(now, math.min(last, now + 1000 * interval) + interval)
end
redis.call('PSETEX', KEYS[1], math.ceil((start + interval - now) / 1000) + 1, string.format('%.0f', start))
return struct.pack('<dd', now, start - now)
