-- What the scripts share that know the state of an origin.

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

-- held_row is the name of the row, among the grants of an origin, that says until when an
-- operator holds the site. It is the name of no grant, as a grant's begins with a 1 bit in
-- the first two.
local held_row = '\1held\0\0\0'

-- lent_for returns for how long a grant is lent, nothing for one of a worker.
local function lent_for(name)
  if byte(name) >= 128 then return unpick('>I2', name, 2) * 1000000 end
end

-- overload doubles a back-off.
local function overload(factor)
  factor = min(max(factor, 1) * 2, 1024)
  return factor, max(math.floor(factor / 8), 1)
end

-- keep writes a state until it says no more than none, or deletes it. The grants are rows
-- of 24 bytes.
local function keep(key, grants, last, retry, over, slow, seen, factor, step, forget, grant_timeout)
  local needed = max(retry, last + slow + 1, factor > 0 and over + forget or 0)
  for i = 1, #grants, 24 do
    local start = unpick('<d', grants, i + 8)
    local hold = byte(grants, i) >= 128 and unpick('>I2', grants, i + 1) * 1000000
    needed = max(needed, start + (hold and hold + max(forget, slow + 1) or grant_timeout + slow + 1))
  end
  if needed <= now then
    call('DEL', key)
    return false
  end
  local site = pack('<dddddHH', last, retry, over, slow, seen, factor, step) .. grants
  call('PSETEX', key, format('%d', (needed - now) / 1000 + 2), site) -- a server is slow to write a number itself
  return site
end
