-- The beginning of the scripts that decide. All times are microseconds of the
-- server's clock; 0 is never.
local call, pack, unpick = redis.call, struct.pack, struct.unpack
local max, min, ceil = math.max, math.min, math.ceil
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

-- origin takes a state apart; its grants begin at the last that it returns but one. It
-- returns nothing for what no script has written, as its times show: 0, or after 2001
-- and before anybody's Retry-After ends. If the clock was set back since it was
-- written, all of it moves by as much as can be seen, which is the last.
local function origin(site)
  if #site < 44 or #site % 24 ~= 20 then return end
  local last, retry, over, slow, seen, factor, step, i = unpick('<dddddHH', site)
  if not ((last == 0 or last >= 1e15) and (retry == 0 or retry >= 1e15) and (over == 0 or over >= 1e15) and (seen == 0 or seen >= 1e15)
    and slow >= 0 and last + retry + over + slow + seen < 4e16 and factor <= 1024) then return end
  for g = i, #site, 24 do
    local start, before = unpick('<dd', site, g + 8)
    if not (start >= 1e15 and (before == 0 or before >= 1e15) and start + before < 2e16) then return end
  end
  local moved = max(seen - now, 0)
  if moved > 0 then
    seen = now
    if last > 0 then last = last - moved end
    if retry > 0 then retry = retry - moved end
    if over > 0 then over = over - moved end
  end
  return last, retry, over, slow, seen, factor, step, i, moved
end

-- address_state takes the state of an address apart: its last start and when it was
-- written. It returns nothing for what no script has written.
local function address_state(addr)
  if #addr ~= 16 then return end
  local last, at = unpick('<dd', addr)
  if last >= 1e15 and at >= 1e15 and last + at < 2e16 then return last, at end
end

-- lent_for returns for how long a grant is lent, nothing for one of a worker.
local function lent_for(name)
  local mark, seconds = unpick('>I1I2', name)
  if mark >= 128 then return seconds * 1000000 end
end

-- overload doubles a back-off.
local function overload(factor)
  factor = min(max(factor, 1) * 2, 1024)
  return factor, max(math.floor(factor / 8), 1)
end

-- needed_until returns until when a state says more than none. A lent grant that is not
-- given back begins a back-off at its end.
local function needed_until(grants, last, retry, slow, factor, over, forget, grant_timeout)
  local keep = max(retry, last + slow + 1, factor > 0 and over + forget or 0)
  for i = 1, #grants, 24 do
    local name, start = unpick('<c8d', grants, i)
    local hold = lent_for(name)
    keep = max(keep, start + (hold and hold + max(forget, slow + 1) or grant_timeout + slow + 1))
  end
  return keep
end
