-- What the scripts share that know the state of an origin.

-- origin takes a state apart, nothing for none. What no script has written counts as asked
-- now: a state shows that by its times, which are 0, or after 2001 and before anybody's
-- Retry-After ends. If the clock was set back since it was written, all of it moves by as
-- much as can be seen. Behind the state it returns the grants, whether anything is other
-- than it was written, and whether it is damaged.
local function origin(site, slowest)
  if not site then return 0, 0, 0, 0, 0, 0, 0, '' end
  local last, retry, over, slow, seen, factor, step, first
  local whole = #site >= 44 and #site % 24 == 20
  if whole then
    last, retry, over, slow, seen, factor, step, first = unpick('<dddddHH', site)
    whole = (last == 0 or last >= 1e15) and (retry == 0 or retry >= 1e15) and (over == 0 or over >= 1e15) and (seen == 0 or seen >= 1e15)
      and slow >= 0 and last + retry + over + slow + seen < 4e16 and factor <= 1024
    for i = first, #site, 24 do
      local start, before = unpick('<dd', site, i + 8)
      whole = whole and start >= 1e15 and (before == 0 or before >= 1e15) and start + before < 2e16
    end
  end
  if not whole then return now, 0, 0, slowest, now, 0, 0, '', true, true end
  local grants = sub(site, first)
  if seen <= now then return last, retry, over, slow, seen, factor, step, grants end
  local function back(at) return at > 0 and at - seen + now or 0 end
  local rows = {}
  for i = 1, #grants, 24 do
    local name, start, before = unpick('<c8dd', grants, i)
    rows[#rows + 1] = pack('<c8dd', name, back(start), back(before))
  end
  return back(last), back(retry), back(over), slow, now, factor, step, table.concat(rows), true
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

-- matters returns until when a state says more than none, but for its grants.
local function matters(last, retry, over, slow, factor, forget)
  return max(retry, last + slow + 1, factor > 0 and over + forget or 0)
end

-- keep writes a state until it says no more than none, or deletes it, and returns it. A key
-- that lives for as long anyway goes on doing so: to set that costs a server as much as to
-- write the value.
local function keep(key, grants, last, retry, over, slow, seen, factor, step, forget, grant_timeout, lives)
  local needed = matters(last, retry, over, slow, factor, forget)
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
  if needed <= lives then
    call('SET', key, site, 'KEEPTTL')
    return site
  end
  call('PSETEX', key, format('%d', (needed - now) / 1000 + 2), site) -- a server is slow to write a number itself
  return site
end
