-- Gives, renews and takes back the lease of a site, with what is known of the site.
--
-- KEYS: epoch, site. ARGV: a character: t take, k keep what the worker still has, r give
-- back, p only look; the id of the worker in 8 bytes, the number of its lease in 4;
-- doubles: how long a lease is, forget, the slowest interval; what the worker knows of the
-- site, as how long ago the last response was and how long ago the last overload, below 0
-- for never, and in how long the Retry-After ends; factor and step of the back-off in 2
-- bytes each; and the name of the worker.
--
-- The value is: the id of the worker and the number of its lease, 0 if nobody has the
-- site; doubles: until when, end of the last response, Retry-After, last overload,
-- slowest interval, last writing; factor, step, and the name of the worker.
--
-- The reply is the time, alone if the epoch is another one; else with G granted, R another
-- worker has the site, or may have it, L the worker has it no more; for how long
-- that holds, the state as in ARGV with the slowest interval first, and the name of the
-- worker that has it, none if nobody knows.
local call, pack, unpick, max = redis.call, struct.pack, struct.unpack, math.max
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local epoch = redis.pcall('GET', KEYS[1])
if type(epoch) ~= 'string' then epoch = '' end
-- Before this time the server's memory is not to be trusted.
local since = tonumber(string.sub(epoch, 38))
if string.sub(epoch, 1, 16) ~= 'EPOCH' or not since then
  return pack('<d', now)
end
local op, id, number, lease, forget, slowest, ago, over_ago, wait, its_factor, its_step, i = unpick('<c1c8I4ddddddHH', ARGV[1])
local name = string.sub(ARGV[1], i)
if since > now then -- the clock was set back, and the epoch is yet to know
  since = now
  if op ~= 'p' then call('SET', KEYS[1], string.sub(epoch, 1, 37) .. string.format('%.0f', now)) end
end

local nobody, somebody = string.rep('\0', 8), string.rep('\255', 8)
local holder, held, till, last, retry, over, slow, seen, factor, step, holder_name = nobody, 0, 0, 0, 0, 0, 0, 0, 0, 0, ''
local site = redis.pcall('GET', KEYS[2])
local damaged = site and type(site) ~= 'string'
if site and not damaged then
  damaged = #site < 64
  if not damaged then
    holder, held, till, last, retry, over, slow, seen, factor, step, i = unpick('<c8I4ddddddHH', site)
    holder_name = string.sub(site, i)
    damaged = not ((till == 0 or till >= 1e15) and (last == 0 or last >= 1e15) and (retry == 0 or retry >= 1e15) and (over == 0 or over >= 1e15)
      and seen >= 1e15 and slow >= 0 and till + last + retry + over + slow + seen < 4e16 and factor <= 1024)
  end
  if not damaged and seen > now then -- the clock was set back: all of it moves by as much as can be seen
    local moved = seen - now
    seen = now
    if till > 0 then till = till - moved end
    if last > 0 then last = last - moved end
    if retry > 0 then retry = retry - moved end
    if over > 0 then over = over - moved end
  end
end
-- Of a site that was not written since the memory is whole somebody may have a lease that
-- the server has forgotten, and use it to its end. Only who has it knows, and keeps it.
local free_at = since > 0 and seen <= since and since + lease or 0
local write = false
if damaged then
  holder, held, till, last, retry, over, slow, factor, step, holder_name = somebody, 0, now + lease, 0, 0, 0, slowest, 0, 0, ''
  write = true
elseif now < free_at and (op == 't' or op == 'p') and (holder == nobody or holder == id or till <= now) then
  holder, held, till, holder_name = somebody, 0, free_at, ''
  write = true
end

local mine = holder == id and (held == number or op == 't' or op == 'p')
local code, lasts = 'G', lease
if op == 'r' then
  if not mine then code = 'L' end
elseif op == 'k' and not mine and (now < free_at or holder == somebody) and (holder == nobody or holder == somebody or holder == id or till <= now) then
  code = 'G'
elseif holder ~= nobody and holder ~= id and till > now then
  code, lasts = 'R', till - now
elseif op == 'k' and not mine then
  code = 'L'
end

if code == 'G' then
  write = true
  if not mine then
    if holder ~= nobody then last = max(last, till) end -- who had the site may have asked it until then
    if now >= free_at then last = max(last, free_at) end
  end
  if ago >= 0 and now - ago >= last then -- the worker saw the site last
    last, factor, step = now - ago, its_factor, its_step
    if over_ago >= 0 then over = max(over, now - over_ago) end
  end
  if wait > 0 then retry = max(retry, now + wait) end
  slow = max(slow, slowest)
  if factor > 0 and now - over >= forget then factor, step = 0, 0 end
  if op == 'r' then
    holder, held, till, holder_name = nobody, 0, 0, ''
  else
    holder, held, till, holder_name = id, number, now + lease, name
  end
end
if write and op ~= 'p' then
  local keep = max(max(till, last) + slow, retry, factor > 0 and over + forget or 0)
  if keep <= now then
    call('DEL', KEYS[2])
  else
    call('SET', KEYS[2], pack('<c8I4ddddddHH', holder, held, till, last, retry, over, slow, now, factor, step) .. holder_name,
      'PX', string.format('%.0f', math.ceil((keep - now) / 1000) + 1))
  end
end
return pack('<dc1dddddHH', now, code, lasts, slow, last > 0 and now - last or -1, over > 0 and now - over or -1, max(retry - now, 0), factor, step)
  .. holder_name
