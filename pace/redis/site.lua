-- Gives, renews and takes back leases of sites of one tag, with what is known of the sites.
--
-- Behind the epoch the keys are of each site its key here, and that of its origin, at which an
-- operator may hold it. The argument: the id of the worker in 8 bytes; doubles: how
-- long a lease is, forget; the length of the worker's name in a byte, and the name. Then of
-- each site a character: t take, k keep what the worker still has, r give back, p only look;
-- the number of the lease in 4 bytes; doubles: the slowest interval; what the worker knows
-- of the site, as how long ago the last response was and how long ago the last overload,
-- below 0 for never, and in how long the Retry-After ends; factor and step of the back-off
-- in 2 bytes each.
--
-- The value is: the id of the worker and the number of its lease, 0 if nobody has the
-- site; doubles: until when, end of the last response, Retry-After, last overload,
-- slowest interval, last writing; factor, step, and the name of the worker.
--
-- The reply is the time, and of each site G granted, R another worker has the site, or may
-- have it, L the worker has it no more, H an operator holds it, so that nobody has it; for
-- how long that holds; the state as above, but the slowest interval first; the length of
-- the name of the worker that has the site, and the name, empty if nobody knows.
local nobody, somebody = '\0\0\0\0\0\0\0\0', '\255\255\255\255\255\255\255\255'
local id, lease, forget, name, n = unpick('<c8ddBc0', arg)
local answers = {pack('<d', now)}
for k = 2, #KEYS, 2 do
  local op, number, slowest, ago, over_ago, wait, its_factor, its_step
  op, number, slowest, ago, over_ago, wait, its_factor, its_step, n = unpick('<c1I4ddddHH', arg, n)
  local holder, held, till, last, retry, over, slow, seen, factor, step, holder_name = nobody, 0, 0, 0, 0, 0, 0, 0, 0, 0, ''
  local site = value(k)
  local damaged = site and #site < 64
  if site and not damaged then
    local i
    holder, held, till, last, retry, over, slow, seen, factor, step, i = unpick('<c8I4ddddddHH', site)
    holder_name = sub(site, i)
    damaged = not ((till == 0 or till >= 1e15) and (last == 0 or last >= 1e15) and (retry == 0 or retry >= 1e15) and (over == 0 or over >= 1e15)
      and seen >= 1e15 and slow >= 0 and till + last + retry + over + slow + seen < 4e16 and factor <= 1024)
    if not damaged and seen > now then -- the clock was set back: all of it moves by as much as can be seen
      local moved = seen - now
      seen = now
      if till > 0 then till = till - moved end
      if last > 0 then last = last - moved end
      if retry > 0 then retry = retry - moved end
      if over > 0 then over = over - moved end
    end
  end

  -- Of a site that was not written since the memory is whole somebody may have a lease that
  -- the server has forgotten, and use it to its end. Only who has it knows, and keeps it.
  local free_at = since > 0 and seen <= since and since + lease or 0
  local asks, write = op == 't' or op == 'p', false
  if damaged then
    holder, held, till, last, retry, over, slow, factor, step, holder_name = somebody, 0, now + lease, 0, 0, 0, slowest, 0, 0, ''
    write = true
  elseif now < free_at and asks and (holder == nobody or holder == id or till <= now) then
    holder, held, till, holder_name = somebody, 0, free_at, ''
    write = true
  end

  local hold, row = 0, got[k + 1]
  if row then
    for i = 45, #row - 23, 24 do
      local what, till = unpick('<c8d', row, i)
      if what == '\1held\0\0\0' then hold = till end
    end
  end

  local mine = holder == id and (held == number or asks)
  local anothers = holder ~= nobody and holder ~= id and till > now
  local code, lasts, held_now = 'G', lease, hold > now and op ~= 'r'
  if held_now then op = mine and op == 'k' and 'r' or 'p' end
  if op == 'r' then
    if not mine then code = 'L' end
  elseif anothers and not (op == 'k' and holder == somebody) then
    code, lasts = 'R', till - now
  elseif op == 'k' and not mine and not anothers and now >= free_at then
    code = 'L'
  end

  if code == 'G' then
    write = true
    if not mine then
      if holder ~= nobody then last = max(last, till <= now and till or 0) end -- who had the site may have asked it until then
      if now >= free_at then last = max(last, free_at) end
    end
    if ago >= 0 and now - ago >= last then -- the worker saw the site last
      last, factor, step = now - ago, its_factor, its_step
      if over_ago >= 0 then over = max(over, now - over_ago) end
    end
    if wait > 0 then retry = max(retry, now + wait) end
    slow = max(slow, slowest)
    if factor > 0 and now - over >= forget then factor, step = 0, 0 end
    if op == 'r' then
      holder, held, till, holder_name = nobody, 0, 0, ''
    else
      holder, held, till, holder_name = id, number, now + lease, name
    end
  end
  if write and op ~= 'p' then
    local keep = max(max(till, last) + slow, retry, factor > 0 and over + forget or 0)
    if keep <= now then
      call('DEL', KEYS[k])
    else
      call('PSETEX', KEYS[k], ceil((keep - now) / 1000) + 1,
        pack('<c8I4ddddddHH', holder, held, till, last, retry, over, slow, now, factor, step) .. holder_name)
    end
  end
  if held_now then code, lasts = 'H', hold - now end
  answers[k / 2 + 1] = pack('<c1dddddHHBc0', code, lasts, slow, last > 0 and now - last or -1, over > 0 and now - over or -1, max(retry - now, 0), factor, step,
    #holder_name, holder_name)
end
return table.concat(answers)
