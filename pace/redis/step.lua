-- Of origins: 'O'; doubles: concurrency, grant timeout, forget, worker timeout. Then of each
-- origin the id of the grant in 8 bytes, of which the first 5 are its worker's, or say that
-- it is lent and for how long (lent_for), zeros to ask only; 5 bytes of a worker that is
-- known to be gone; doubles: for how long that is gone, below 0 for nobody, in how long from now the start may
-- be at the latest and at the earliest, the slowest interval; how many spans there are in 2
-- bytes; doubles: the beginning of the first, and of each its end and its interval, which is
-- below 0 where the site is closed.
local concurrency, grant_timeout, forget, worker_timeout, n = unpick('<dddd', arg, 2)
local answers = #KEYS ~= 2 and {pack('<d', now)}
for k = 2, #KEYS do
  local id, gone, gone_for, within, earliest, slowest, spans, from
  id, gone, gone_for, within, earliest, slowest, spans, from, n = unpick('<c8c5ddddHd', arg, n)
  local key, site = KEYS[k], value(k)
  local peek = id == '\0\0\0\0\0\0\0\0'

  local last, retry, over, slow, seen, factor, step, given, changed = origin(site, slowest)
  local grants, under_way, doubt, held = '', 0, '\0\0\0\0\0', 0
  if given ~= '' then
    local rows = {}
    for i = 1, #given, 24 do
      local name, start, before = unpick('<c8dd', given, i)
      if byte(name) < 64 and name == held_row then
        if start > now then
          held = start
          rows[#rows + 1] = pack('<c8dd', name, start, before)
        end
      else
        local hold = lent_for(name)
        local ends = start + (hold or grant_timeout) -- if nobody gives it back
        if not hold and now - start >= worker_timeout then
          local worker = sub(name, 1, 5)
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
      if matters(last, retry, over, slow, factor, forget) <= now then
        slow = slowest
      else
        slow = max(slow, slowest)
      end
      grants = grants .. pack('<c8dd', id, start, last)
      last, seen = max(last, start), now
    end
    if code == 'G' or changed then
      keep(key, grants, last, retry, over, slow, seen, factor, step, forget, grant_timeout, 0)
    end
  end
  -- 'G' for granted, 'R' for refused, 'O' if the time is not among the spans; the start,
  -- the last end, the end of a Retry-After or of the hold of an operator, which is later;
  -- the back-off; 1 if a grant is under way, 2 more for the hold; and whose that grant is,
  -- if its worker may be gone, zeros if none.
  local answer = pack('<c1dddHHBc5', code, start or to, known, max(retry, held), factor, step, (busy and 1 or 0) + (held > retry and 2 or 0), doubt)
  if not answers then return pack('<d', now) .. answer end
  answers[k] = answer
end
return table.concat(answers)
