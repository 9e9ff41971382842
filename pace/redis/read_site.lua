-- Reads the state of a site. The site counts as requested now if its state is missing or damaged, if
-- another server wrote it, or if the clock was set back since. A permit that has expired counts as
-- ended then, and if its id begins with 255 as timed out. That of a worker in gone (see acquire.lua)
-- ends when the worker did, or timeout after its start.
--
-- Takes key; the id of a permit; gone, nil for no list, and timeout. Sets, with the names
-- of package pace:
--
-- writer, written: the server that wrote the state, and when.
-- known: the state is neither lost nor old.
-- last: the last start or end of a response.
-- retry: the end of the last Retry-After.
-- overload, factor, step: the last overload; the back-off; how much a good response reduces it.
-- slowest: the slowest interval.
-- permit_start, permit_last, permit_lifetime: of the permit with the id its start, the last of the site
-- before it and its lifetime in milliseconds; nil if there is none.
-- count, permits, permits_end: of the others their number, of each '<c8ddI4' its id, its start, its
-- last, its lifetime; and when the last one expires.
--> get.lua
local writer, written, last, retry, overload, slowest, factor, step, i
if value and #value >= 52 and #value % 28 == 24 then
  writer, written, last, retry, overload, slowest, factor, step, i = unpack('<c8dddddHH', value)
  -- A time is 0, or after 2001 and before 2286.
  if not (written >= 1e15 and (last == 0 or last >= 1e15) and (retry == 0 or retry >= 1e15) and (overload == 0 or overload >= 1e15)
    and slowest >= 0 and written + last + retry + overload + slowest < 5e16 and factor <= 1024) then writer = nil end
end
local known, count, permits, permits_end = false, 0, '', 0
local permit_start, permit_last, permit_lifetime
if writer then
  known = writer == server and written <= now
  --> clock_shift.lua
  if last > 0 then last = last + shift end
  if retry > 0 then retry = retry + shift end
  if overload > 0 then overload = overload + shift end
  while i <= #value do
    local permit, start, before, lifetime
    permit, start, before, lifetime, i = unpack('<c8ddI4', value, i)
    start = start + shift
    before = before + shift
    local expires, mark = start + lifetime * 1000, string.byte(permit)
    local ends = expires
    if gone and mark < 254 and now - start >= timeout then
      local worker = string.sub(permit, 1, 5)
      local at = string.find(gone, worker, 9, true)
      while at and at % 13 ~= 9 do at = string.find(gone, worker, at + 1, true) end
      if at then
        local gone_for = unpack('<d', gone) + unpack('<d', gone, at + 5)
        ends = math.min(ends, max(start + timeout, now - gone_for))
      end
    end
    if ends <= now then
      last = max(last, ends)
      if mark == 255 then
        local overloaded_at = ends
        --> overload.lua
      end
    elseif permit == id then
      permit_start, permit_last, permit_lifetime = start, before, lifetime
    else
      count = count + 1
      permits = permits .. pack('<c8ddI4', permit, start, before, lifetime)
      permits_end = max(permits_end, expires)
    end
  end
else
  written, last, retry, overload, slowest, factor, step = nil, 0, 0, 0, 0, 0, 0
end
if factor > 0 and now - overload >= max_back_off then factor, step = 0, 0 end
if server and not known then last = max(last, now + startable) end
