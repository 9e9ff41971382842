-- Changes the state of an origin as an operator wishes.
--
-- KEYS: the origin, and its site lease. ARGV[1]: a character: h hold, r release, f forget
-- what the site wished; doubles: for how long to hold, forget, grant timeout, how long a
-- lease is.
-- The reply is 1 if the site was held, else 0.
local what, hold, forget, grant_timeout, lease = unpick('<c1dddd', ARGV[1])
local last, retry, over, slow, seen, factor, step, i, moved
local site = redis.pcall('GET', KEYS[1])
if type(site) == 'string' then last, retry, over, slow, seen, factor, step, i, moved = origin(site) end
if site and not last then
  return redis.error_reply('ERR the state of ' .. KEYS[1] .. ' is damaged: a worker that asks the site mends it')
end
local rows, was = {}, 0
if not last then
  last, retry, over, slow, seen, factor, step = 0, 0, 0, 0, 0, 0, 0
else
  while i < #site do
    local name, start, before
    name, start, before, i = unpick('<c8dd', site, i)
    if moved > 0 then
      start = start - moved
      if before > 0 then before = before - moved end
    end
    if name == held_row then was = start end
    if name ~= held_row or what == 'f' then rows[#rows + 1] = pack('<c8dd', name, start, before) end
  end
end
if what == 'h' then
  rows[#rows + 1] = pack('<c8dd', held_row, now + hold, 0)
elseif what == 'f' then
  retry, over, factor, step = 0, 0, 0, 0
end
keep(KEYS[1], table.concat(rows), last, retry, over, slow, seen, factor, step, forget, grant_timeout)

-- Where each site is one worker's a hold has the lease (site.lua), with the number 1 if a
-- worker had it then: that may use its lease to its end.
local holder, number, till, name = '', 0, 0, ''
local value = redis.pcall('GET', KEYS[2])
if type(value) == 'string' and #value >= 64 then
  holder, number, till, last, retry, over, slow, seen, factor, step, i = unpick('<c8I4ddddddHH', value)
  name = string.sub(value, i)
elseif what ~= 'h' then
  return {was > now and 1 or 0}
else
  last, retry, over, slow, seen, factor, step = 0, 0, 0, 0, 0, 0, 0
end
if what == 'h' then
  local busy = till > now and (holder ~= held_row or number == 1)
  till = max(now + hold, busy and holder ~= held_row and till or 0)
  holder, number, name, seen = held_row, busy and 1 or 0, held_row, now
elseif what == 'f' then
  retry, over, factor, step = 0, 0, 0, 0
elseif holder == held_row then
  was = max(was, till)
  if number == 1 and seen + lease > now then
    till = seen + lease
  else
    holder, number, till, name = string.rep('\0', 8), 0, 0, ''
  end
end
local needed = max(max(till, last) + slow, retry, factor > 0 and over + forget or 0)
if needed <= now then
  call('DEL', KEYS[2])
else
  call('PSETEX', KEYS[2], ceil((needed - now) / 1000) + 1, pack('<c8I4ddddddHH', holder, number, till, last, retry, over, slow, seen, factor, step) .. name)
end
return {was > now and 1 or 0}
