-- Answers requests one after another: grants the next start of a key, or says when to
-- ask again and why.
--
-- KEYS: epoch, workers; then of each request the origin, and the address if it has
-- a pace.
-- ARGV: doubles: concurrency, grant timeout, forget, worker timeout. Then of each request
-- the id of the grant in 8 bytes, of which the first 5 are its worker's, or say that it is
-- lent and for how long (lent_for), zeros to peek;
-- doubles: the interval of the address, 0 without a pace; within, how long from now a
-- start is too early, the slowest interval; the beginning of the first span, and of each
-- span its end and its interval, which is below 0 where the site is closed.
-- The reply is the time, alone if the epoch is another one; else with the number
-- of workers and an answer of 38 bytes for each request.
local name = 'EPOCH'
local got = call('MGET', unpack(KEYS))
local epoch = got[1] or ''
-- Before this time the server's memory is not to be trusted.
local since = tonumber(string.sub(epoch, 38))
if string.sub(epoch, 1, 16) ~= name or not since then
  return pack('<d', now)
end
local concurrency, grant_timeout, forget, worker_timeout = unpick('<dddd', ARGV[1])
local back = since > now -- the clock was set back, and the epoch is yet to know
if back then since = now end

-- What later requests find is what earlier ones wrote.
local written = #ARGV > 2 and {}

local reply, k = '', 3
for n = 2, #ARGV do
  local arg = ARGV[n]
  local id, addr_interval, within, earliest, slowest, from, at = unpick('<c8ddddd', arg)
  local key, site, address, addr = KEYS[k], got[k], nil, nil
  k = k + 1
  if addr_interval > 0 then
    address, addr, k = KEYS[k], got[k], k + 1
  end
  if written then
    site, addr = written[key] or site, written[address] or addr
  end
  local peek = id == '\0\0\0\0\0\0\0\0'
  if back and not peek then
    call('SET', KEYS[1], string.sub(epoch, 1, 37) .. string.format('%.0f', now))
    back = false
  end

  -- What is known of the origin. What is damaged, or of another type and so read as
  -- nothing, counts as asked now.
  local last, retry, over, slow, seen, factor, step, i, moved
  if site then last, retry, over, slow, seen, factor, step, i, moved = origin(site) end
  local damaged = not last and (site or type(redis.pcall('GET', key)) == 'table')
  local grants, under_way = '', 0
  if damaged then
    last, retry, over, slow, seen, factor, step, moved = now, 0, 0, slowest, now, 0, 0, 0
  elseif not site then
    last, retry, over, slow, seen, factor, step, moved = 0, 0, 0, 0, 0, 0, 0, 0
  else
    while i < #site do
      local name, start, before
      name, start, before, i = unpick('<c8dd', site, i)
      if moved > 0 then
        start = start - moved
        if before > 0 then before = before - moved end
      end
      local hold = lent_for(name)
      local ends = start + (hold or grant_timeout) -- if nobody gives it back
      if not hold and ends > now and now - start >= worker_timeout then -- or sooner, if its worker is gone
        local beat = tonumber(redis.pcall('ZSCORE', KEYS[2], string.format('%02x%08x', unpick('>I1I4', name))))
        if beat then ends = min(ends, max(start, beat) + worker_timeout) end
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
        grants = grants .. pack('<c8dd', name, start, before)
      end
    end
  end
  if seen <= since then last = max(last, since) end
  if factor > 0 and now - over >= forget then factor, step = 0, 0 end

  local ready, addr_last, addr_moved = 0, 0, false
  if address then
    local at = 0
    if not addr and type(redis.pcall('GET', address)) == 'table' then addr = '' end
    if addr then
      addr_last, at = address_state(addr)
      if not addr_last then
        addr_last, at, addr_moved = now, now, true
      elseif at > now then
        addr_last, at, addr_moved = addr_last - (at - now), now, true
      end
    end
    if at <= since then addr_last = max(addr_last, since) end
    if addr_last > 0 then ready = addr_last + addr_interval end
  end

  -- Schedule.NextIn over the spans.
  local busy = under_way >= concurrency
  local ended = last
  if busy then ended = max(ended, now) end
  local u, start = max(now + earliest, retry, ready), nil
  local to = from
  while at <= #arg do
    local interval
    to, interval, at = unpick('<dd', arg, at)
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
      last, addr_last = max(last, start), max(addr_last, start)
      seen = now
    end
    if code == 'G' or moved > 0 or damaged then
      local keep = needed_until(grants, last, retry, slow, factor, over, forget, grant_timeout)
      site = pack('<dddddHH', last, retry, over, slow, seen, factor, step) .. grants
      call('PSETEX', key, max(ceil((keep - now) / 1000), 0) + 1, site)
      if written then written[key] = site end
    end
    if address and (code == 'G' or addr_moved) then
      addr = pack('<dd', addr_last, now)
      call('PSETEX', address, max(ceil((addr_last + addr_interval - now) / 1000), 0) + 1, addr)
      if written then written[address] = addr end
    end
  end
  reply = reply .. pack('<c1ddddHHB', code, start or to, known, retry, ready, factor, step, busy and 1 or 0)
end
return pack('<d', now) .. string.sub(epoch, 33, 37) .. reply
