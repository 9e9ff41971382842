#!lua
-- Grants the next start of a key, or says what stands against it.
--
-- KEYS: epoch, origin, and the address if it has a pace.
-- ARGV: the name of the grant in 8 octets, "-" to look only; then doubles: places,
-- hold, interval of addresses, forget; within, floor, slowest interval; the
-- beginning of the first span, and of each span its end and its interval, which
-- is below 0 where the site is closed.
-- All times are microseconds of the server's clock; 0 is never.
local generation = 'GENERATION'
local call, pack, unpick = redis.call, struct.pack, struct.unpack
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local got = call('MGET', unpack(KEYS))
local epoch, site, addr = got[1], got[2], got[3]
if not epoch or string.sub(epoch, 1, 16) ~= generation then
  return pack('<c1d', 'E', now)
end
local id, arg = ARGV[1], ARGV[2]
local looks = id == '-'
local places, hold, gap, forget, within, floor, slowest, from, at = unpick('<dddddddd', arg)
local max, ceil = math.max, math.ceil

-- Before this time the server's memory is not to be trusted.
local since = tonumber(string.sub(epoch, 38))
if since > now then -- the clock was set back
  since = now
  if not looks then
    call('SET', KEYS[1], string.sub(epoch, 1, 37) .. string.format('%.0f', now))
  end
end

-- What is known of the origin. If the clock was set back since it was written,
-- all of it moves by as much as can be seen.
local last, retry, over, slow, seen, factor, step = 0, 0, 0, 0, 0, 0, 0
local grants, taken, back = '', 0, 0
if site then
  local i
  last, retry, over, slow, seen, factor, step, i = unpick('<dddddHH', site)
  back = max(seen - now, 0)
  if back > 0 then
    seen = now
    if last > 0 then last = last - back end
    if retry > 0 then retry = retry - back end
    if over > 0 then over = over - back end
  end
  while i < #site do
    local name, start, before
    name, start, before, i = unpick('<c8dd', site, i)
    if back > 0 then
      start = start - back
      if before > 0 then before = before - back end
    end
    if start + hold <= now then -- nobody gave it back
      last = max(last, start + hold)
    else
      taken = taken + 1
      grants = grants .. pack('<c8dd', name, start, before)
    end
  end
end
if seen <= since then last = max(last, since) end
if factor > 0 and now - over >= forget then factor, step = 0, 0 end

local ready, visit, turned = 0, 0, false
if gap > 0 and KEYS[3] then
  local written = 0
  if addr then
    visit, written = unpick('<dd', addr)
    if written > now then
      visit, written, turned = visit - (written - now), now, true
    end
  end
  if written <= since then visit = max(visit, since) end
  if visit > 0 then ready = visit + gap end
end

-- Schedule.NextIn over the spans.
local busy = taken >= places
local ended = last
if busy then ended = max(ended, now) end
local u, start = max(now + floor, retry, ready), nil
local to = from
while at <= #arg do
  local interval
  to, interval, at = unpick('<dd', arg, at)
  if u < to then
    if interval >= 0 then
      local open = 0
      if ended > 0 then
        if factor > 0 then
          interval = max(interval, math.min(max(interval, 1000000) * factor, 86400000000))
        end
        open = ended + ceil(interval)
      end
      if open <= u then
        start = u
        break
      elseif open < to then
        start = open
        break
      end
    end
    u = to
  end
end
if from > now or (not start and to <= now + within) then
  return pack('<c1d', 'O', now)
end

local known = last
local granted = not looks and not busy and start and start - now <= within
if not looks and (granted or back > 0) then
  if granted then
    if max(retry, last + slow + 1, factor > 0 and over + forget or 0) <= now then
      slow = slowest
    else
      slow = max(slow, slowest)
    end
    grants = grants .. pack('<c8dd', id, start, last)
    last = max(last, start)
    seen = now
  end
  local keep = max(retry, last + slow + 1, factor > 0 and over + forget or 0)
  for i = 9, #grants, 24 do
    keep = max(keep, unpick('<d', grants, i) + hold + slow + 1)
  end
  call('PSETEX', KEYS[2], max(ceil((keep - now) / 1000), 0) + 1,
    pack('<dddddHH', last, retry, over, slow, seen, factor, step) .. grants)
end
if KEYS[3] and gap > 0 and not looks and (granted or turned) then
  if granted then visit = max(visit, start) end
  call('PSETEX', KEYS[3], max(ceil((visit + gap - now) / 1000), 0) + 1, pack('<dd', visit, now))
end
return pack('<c1dddddHHB', granted and 'G' or 'R', now, start or to, known, retry, ready, factor, step,
  busy and 1 or 0) .. string.sub(epoch, 33, 37)
