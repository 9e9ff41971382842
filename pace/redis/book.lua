-- Grants the next start at origins, or books the next start at an address, of one tag.
-- Behind the epoch the keys are origins, each once, or one address.

-- Of an address: 'A', then 1 for a fetch of robots.txt and 0 for a page; doubles: the time
-- between two pages, that between a fetch and any other start, and in how long from now
-- the start may be at the earliest and at the latest, below 0 to ask only. The answer: in
-- how long the start is, and 1 if it is booked. See pace.Limiter for the line.
if byte(arg) == 65 then
  local fetch, gap, fetch_gap, ahead, within = unpick('<Bdddd', arg, 2)
  local state = value(2)
  local pages, fetches, at = 0, 0, 0
  if state then
    if #state == 24 then pages, fetches, at = unpick('<ddd', state) end
    -- What is damaged counts as asked now.
    if not ((pages == 0 or pages >= 1e15) and (fetches == 0 or fetches >= 1e15) and at >= 1e15 and pages + fetches + at < 3e16) then
      pages, fetches, at = now, now, now
    end
  end
  local moved = at - now
  if moved > 0 then
    if pages > 0 then pages = pages - moved end
    if fetches > 0 then fetches = fetches - moved end
  elseif at <= since then
    pages, fetches = max(pages, since), max(fetches, since)
  end
  local start
  if fetch == 0 then
    start = max(now + ahead, pages > 0 and pages + gap or 0, fetches > 0 and fetches + fetch_gap or 0)
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
  local booked = start - now <= within
  if booked or within >= 0 and (moved > 0 or at == now) then
    if booked and fetch == 0 then pages = start elseif booked then fetches = start end
    -- A key lives at least to the end of the slot of 16 s after that in which it is written. One
    -- that was written in this slot does already: to set that costs as much as to write it.
    local slot, till = now - now % 16000000, max(pages + max(gap, fetch_gap), fetches + fetch_gap)
    local ends, written = slot + 32000000, pack('<ddd', pages, fetches, now)
    if slot <= at and at < now and till <= ends then
      call('SET', KEYS[2], written, 'KEEPTTL')
    else
      call('PSETEX', KEYS[2], format('%d', (max(till, ends) - now) / 1000 + 2), written)
    end
  end
  return pack('<ddB', now, start - now, booked and 1 or 0)
end
