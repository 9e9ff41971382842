#!lua flags=allow-oom
-- Gives a grant back and notes what the site answered. It runs where memory is
-- full too: a place that is given back is what others wait for.
--
-- KEYS: origin, and the address if it has a pace.
-- ARGV: the name of the grant in 8 octets; then doubles: hold, interval of
-- addresses, forget, the slowest interval where nothing is known; how long ago
-- the response ended, the Retry-After, and the result: 0 nothing said, 1
-- overload, 2 an answer as usual, 3 not used.
-- All times are microseconds of the server's clock; 0 is never.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local id = ARGV[1]
local hold, gap, forget, slowest, ago, wait, result = struct.unpack('<ddddddd', ARGV[2])
local max = math.max
local unused = result == 3
local last, retry, over, slow, seen, factor, step = 0, 0, 0, slowest, 0, 0, 0
local grants, given, before = '', nil, 0
local site = redis.call('GET', KEYS[1])
if site then
  local i
  last, retry, over, slow, seen, factor, step, i = struct.unpack('<dddddHH', site)
  local back = max(seen - now, 0)
  if back > 0 then -- the clock was set back
    seen = now
    if last > 0 then last = last - back end
    if retry > 0 then retry = retry - back end
    if over > 0 then over = over - back end
  end
  while i < #site do
    local name, start, earlier
    name, start, earlier, i = struct.unpack('<c8dd', site, i)
    if back > 0 then
      start = start - back
      if earlier > 0 then earlier = earlier - back end
    end
    if name == id then
      given, before = start, earlier
    else
      grants = grants .. struct.pack('<c8dd', name, start, earlier)
    end
  end
end
if unused then
  if not given then return struct.pack('<d', now) end
  if last == given then last = before end
  if gap > 0 and KEYS[2] then
    local addr = redis.call('GET', KEYS[2])
    if addr then
      local visit, written = struct.unpack('<dd', addr)
      if visit - max(written - now, 0) == given then -- it was ready then
        if given <= now then
          redis.call('DEL', KEYS[2])
        else
          redis.call('PSETEX', KEYS[2], math.ceil((given - now) / 1000) + 1,
            struct.pack('<dd', given - gap, math.min(written, now)))
        end
      end
    end
  end
else
  local at = now - ago
  if #grants == 0 and max(retry, last + slow + 1, factor > 0 and over + forget or 0) <= at and not given then
    retry, over, slow, factor, step = 0, 0, slowest, 0, 0
  end
  last = max(last, at)
  if at - over >= forget then factor, step = 0, 0 end
  if result == 1 then
    factor = math.min(max(factor, 1) * 2, 1024)
    step = max(math.floor(factor / 8), 1)
    over = max(over, at)
  elseif result == 2 then
    if factor > step + 1 then factor = factor - step else factor, step = 0, 0 end
  end
  if wait > 0 then retry = max(retry, at + wait) end
  seen = max(seen, at)
end
local keep = max(retry, last + slow + 1, factor > 0 and over + forget or 0)
for i = 9, #grants, 24 do
  keep = max(keep, struct.unpack('<d', grants, i) + hold + slow + 1)
end
if keep <= now then
  redis.call('DEL', KEYS[1])
else
  redis.call('PSETEX', KEYS[1], math.ceil((keep - now) / 1000) + 1,
    struct.pack('<dddddHH', last, retry, over, slow, seen, factor, step) .. grants)
end
return struct.pack('<d', now)
