#!lua
-- Reserves the next start at an address. See pace.Limiter for the order of starts.
--
-- KEYS: the address.
-- ARGV: [1] what arguments.lua reads; '<Bdddd' 1 for a fetch of robots.txt and 0 for a page; the time
-- between two pages; the time between a fetch and any other start; in how long the start may be at
-- the earliest, and at the latest, below 0 to look.
-- Writes: the last reserved starts, if one is reserved, or to reserve on a server that lost them.
-- Reply: '<dc8ddBdd' time, server; in how long the start is; since when the server knows the
-- address; 1 if the start is reserved, 2 to decide again, as the server is another one; the last
-- reserved starts of a page and of a fetch.
-- Repeated: reserves a further start.
local needs_server = true
--> head.lua
--> arguments.lua
local is_fetch, gap, fetch_gap, ahead, max_wait = unpack('<Bdddd', arg, n)
local key = KEYS[1]
--> get.lua
local writer, written, since, last_page, last_fetch -- the last reserved starts
if value and #value == 40 then
  writer, written, since, last_page, last_fetch = unpack('<c8dddd', value)
  if not (written >= 1e15 and last_page >= 0 and last_fetch >= 0 and written + last_page + last_fetch < 4e16) then writer = nil end
end
if writer then
  --> clock_shift.lua
  if last_page > 0 then last_page = last_page + shift end
  if last_fetch > 0 then last_fetch = last_fetch + shift end
  if written > now then writer = 'set back' end
end
if writer ~= server then
  since = now
  last_page = max(last_page or 0, now + startable)
  last_fetch = max(last_fetch or 0, now + startable)
end
local start
if is_fetch == 0 then
  start = max(now + ahead, last_page + gap, last_fetch > 0 and last_fetch + fetch_gap or 0)
  if last_page > now then start = last_page + math.ceil((start - last_page) / gap) * gap end
else
  start = max(now + ahead, last_fetch > 0 and last_fetch + fetch_gap or 0)
  local after_page = last_page > 0 and last_page + fetch_gap or 0
  if after_page > start then
    local past = (start - last_page) % gap -- since the page before
    if gap < 2 * fetch_gap then start = after_page
    elseif past < fetch_gap then start = start + fetch_gap - past
    elseif gap - past < fetch_gap then start = start + gap - past + fetch_gap end
  end
end
local reserved = known_server == server and start - now <= max_wait
if reserved and is_fetch == 0 then last_page = start elseif reserved then last_fetch = start end
if reserved or max_wait >= 0 and writer ~= server then
  local till = max(last_page + max(gap, fetch_gap), last_fetch + fetch_gap, now + 60000000)
  value = pack('<c8dddd', server, now, since, last_page, last_fetch)
  redis.call('SET', key, value, 'PXAT', string.format('%d', till / 1000 + 2))
end
return pack('<dc8ddBdd', now, server, start - now, since, known_server ~= server and 2 or reserved and 1 or 0, last_page, last_fetch)
