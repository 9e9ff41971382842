-- Reserves the next start at an address.
--
-- KEYS: the address. ARGV[1], after what state.lua reads: 1 for a fetch of robots.txt and 0 for a
-- page; doubles: the time between two pages, that between a fetch and any other start, and in
-- how long the start may be at the earliest and at the latest, below 0 to look. The reply is the
-- time, the server, in how long the start is, since when the server knows the address, 1 if the
-- start is reserved, 2 if the server is another one, and the last reserved starts of a page and of
-- a fetch. See pace.Limiter for the order of starts.
local fetch, gap, fetch_gap, ahead, within = unpick('<Bdddd', arg, n)
local value = get(KEYS[1])
local name, written, since, pages, fetches
if value and #value == 40 then
  name, written, since, pages, fetches = unpick('<c8dddd', value)
  if not (written >= 1e15 and pages >= 0 and fetches >= 0 and written + pages + fetches < 4e16) then name = nil end
end
if name then
  local by = moved(written)
  pages, fetches = pages > 0 and pages + by or 0, fetches > 0 and fetches + by or 0
  if written > now then name = 'set back' end
end
if name ~= server then
  since = now
  pages, fetches = max(pages or 0, now + startable), max(fetches or 0, now + startable)
end
local start
if fetch == 0 then
  start = max(now + ahead, pages + gap, fetches > 0 and fetches + fetch_gap or 0)
  if pages > now then start = pages + ceil((start - pages) / gap) * gap end
else
  start = max(now + ahead, fetches > 0 and fetches + fetch_gap or 0)
  local behind = pages > 0 and pages + fetch_gap or 0
  if behind > start then
    local past = (start - pages) % gap
    if gap < 2 * fetch_gap then start = behind
    elseif past < fetch_gap then start = start + fetch_gap - past
    elseif gap - past < fetch_gap then start = start + gap - past + fetch_gap end
  end
end
local reserved = clock == server and start - now <= within
if reserved and fetch == 0 then pages = start elseif reserved then fetches = start end
if reserved or within >= 0 and name ~= server then
  local till = max(pages + max(gap, fetch_gap), fetches + fetch_gap, now + 60000000)
  call('SET', KEYS[1], pack('<c8dddd', server, now, since, pages, fetches), 'PX', format('%d', (till - now) / 1000 + 2))
end
return pack('<dc8ddBdd', now, server, start - now, since, clock ~= server and 2 or reserved and 1 or 0, pages, fetches)
