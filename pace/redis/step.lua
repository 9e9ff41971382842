-- Grants the next start at origins, or books the next start at an address, of one tag. Its
-- text holds the name of an epoch of the tag.
--
-- KEYS: the tag's epoch; then origins, each once, or one address. ARGV[1] says what is
-- asked. The reply begins with the time, and is the time alone if the epoch is another.
local name, arg = 'EPOCH', ARGV[1]
local got = call('MGET', unpack(KEYS))
local epoch = got[1] or ''
-- Before this time the server's memory is not to be trusted.
local since = tonumber(string.sub(epoch, 33))
if string.sub(epoch, 1, 16) ~= name or not since then
  return pack('<d', now)
end
if since > now then -- the clock was set back, and the epoch is yet to know
  since = now
  call('SET', KEYS[1], string.sub(epoch, 1, 32) .. string.format('%.0f', now))
end

-- other reports whether a key has a value of another type, which is read as none.
local function other(key) return type(redis.pcall('GET', key)) == 'table' end

-- Of an address: 'A', then 1 for a fetch of robots.txt and 0 for a page; doubles: the time
-- between two pages, that between a fetch and any other start, and in how long from now
-- the start may be at the earliest and at the latest, below 0 to ask only. The answer: in
-- how long the start is, and 1 if it is booked. See pace.Limiter for the line.
if string.byte(arg) == 65 then
  local fetch, gap, fetch_gap, ahead, within = unpick('<Bdddd', arg, 2)
  local key, value = KEYS[2], got[2]
  local pages, fetches, at = 0, 0, 0
  if value or other(key) then
    if value and #value == 24 then pages, fetches, at = unpick('<ddd', value) end
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
    local till = max(pages + max(gap, fetch_gap), fetches + fetch_gap) - now
    call('PSETEX', key, max(ceil(till / 1000), 0) + 1, pack('<ddd', pages, fetches, now))
  end
  return pack('<ddB', now, start - now, booked and 1 or 0)
end

-- Of origins: 'O'; doubles: concurrency, grant timeout, forget, worker timeout. Then of each
-- origin the id of the grant in 8 bytes, of which the first 5 are its worker's, or say that
-- it is lent and for how long (lent_for), zeros to ask only; 5 bytes of a worker that is
-- known to be gone; doubles: for how long that is gone, below 0 for nobody, in how long from now the start may
-- be at the latest and at the earliest, the slowest interval; how many spans there are in 2
-- bytes; doubles: the beginning of the first, and of each its end and its interval, which is
-- below 0 where the site is closed.
local concurrency, grant_timeout, forget, worker_timeout, n = unpick('<dddd', arg, 2)
local answers = {pack('<d', now)}
for k = 2, #KEYS do
  local id, gone, gone_for, within, earliest, slowest, spans, from
  id, gone, gone_for, within, earliest, slowest, spans, from, n = unpick('<c8c5ddddHd', arg, n)
  local key, site = KEYS[k], got[k]
  local peek = id == '\0\0\0\0\0\0\0\0'

  -- What is known of the origin. What is damaged, or of another type and so read as
  -- nothing, counts as asked now.
  local last, retry, over, slow, seen, factor, step, i, moved
  if site then last, retry, over, slow, seen, factor, step, i, moved = origin(site) end
  local damaged = not last and (site or other(key))
  local grants, under_way, doubt, changed, held = '', 0, '\0\0\0\0\0', damaged, 0
  if damaged then
    last, retry, over, slow, seen, factor, step, moved = now, 0, 0, slowest, now, 0, 0, 0
  elseif not site then
    last, retry, over, slow, seen, factor, step, moved = 0, 0, 0, 0, 0, 0, 0, 0
  elseif i <= #site then
    local rows = {}
    while i <= #site do
      local name, start, before
      name, start, before, i = unpick('<c8dd', site, i)
      if moved > 0 then
        start = start - moved
        if before > 0 then before = before - moved end
      end
      if name == held_row then
        if start > now then
          held = start
          rows[#rows + 1] = pack('<c8dd', name, start, before)
        end
      else
        local hold = lent_for(name)
        local ends = start + (hold or grant_timeout) -- if nobody gives it back
        if not hold and now - start >= worker_timeout then
          local worker = string.sub(name, 1, 5)
          if worker == gone and gone_for >= 0 then
            ends = min(ends, max(start + worker_timeout, now - gone_for))
            changed = true
          end
          if ends > now then doubt = worker end
        end
        if ends <= now then
          last = max(last, ends)
          if hold then -- a request that timed out
            if ends - over >= forget then factor = 0 end
            factor, step = overload(factor)
            over = max(over, ends)
          end
        else
          under_way = under_way + 1
          rows[#rows + 1] = pack('<c8dd', name, start, before)
        end
      end
    end
    grants = table.concat(rows)
  end
  if seen <= since then last = max(last, since) end
  if factor > 0 and now - over >= forget then factor, step = 0, 0 end

  -- Schedule.NextIn over the spans.
  local busy = under_way >= concurrency
  local ended = last
  if busy then ended = max(ended, now) end
  local u, start, to = max(now + earliest, retry, held), nil, from
  local following = n + 16 * spans
  while n < following do
    local interval
    to, interval, n = unpick('<dd', arg, n)
    if u < to then
      if interval >= 0 then
        local open = 0
        if ended > 0 then
          if factor > 0 then
            interval = max(interval, min(max(interval, 1000000) * factor, 86400000000))
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
  n = following
  local code, known = 'R', last
  if from > now or (not start and to <= now + within) then
    code = 'O'
  elseif not peek then
    if not busy and start and start - now <= within then
      code = 'G'
      if max(retry, last + slow + 1, factor > 0 and over + forget or 0) <= now then
        slow = slowest
      else
        slow = max(slow, slowest)
      end
      grants = grants .. pack('<c8dd', id, start, last)
      last, seen = max(last, start), now
    end
    if code == 'G' or moved > 0 or changed then
      keep(key, grants, last, retry, over, slow, seen, factor, step, forget, grant_timeout)
    end
  end
  -- 'G' for granted, 'R' for refused, 'O' if the time is not among the spans; the start,
  -- the last end, the end of a Retry-After or of the hold of an operator, which is later;
  -- the back-off; 1 if a grant is under way, 2 more for the hold; and whose that grant is,
  -- if its worker may be gone, zeros if none.
  answers[k] = pack('<c1dddHHBc5', code, start or to, known, max(retry, held), factor, step, (busy and 1 or 0) + (held > retry and 2 or 0), doubt)
end
return table.concat(answers)
