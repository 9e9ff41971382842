-- The beginning of the scripts that work on states. ARGV[1] begins with the server whose
-- clock was seen to step forward, zeros for none; doubles: when that was noticed, by how much
-- it stepped, for how long after a memory loss a permit from before might start, and how long
-- after the last overload a back-off is deleted.
local arg = ARGV[1]
local clock, noticed, step, startable, forget, n = unpick('<c8dddd', arg)
if clock ~= server or noticed > now then noticed = 0 end

-- moved returns by how much the clock was set since a value was written.
local function moved(written)
  if not server then return 0 end
  if written > now then return now - written end
  return written <= noticed and min(step, noticed - written) or 0
end

local s, none = {}, {} -- the current site; its permits if it has none

-- overload doubles the back-off of the site.
local function overload(at)
  if at - s.over >= forget then s.factor = 0 end
  s.factor = min(max(s.factor, 1) * 2, 1024)
  s.shrink, s.over = max(math.floor(s.factor / 8), 1), max(s.over, at)
end

-- site reads the state of an origin into s. The origin counts as requested now if its state is
-- missing or damaged, if another server wrote it, or if the clock was set back since. A permit
-- that has expired counts as ended then; that of the worker gone ends when the worker did.
local function site(key, gone, gone_for, timeout)
  local value = get(key)
  local name, written, last, retry, held, over, slowest, factor, shrink, i
  local whole = value and #value >= 60 and #value % 28 == 4
  if whole then
    name, written, last, retry, held, over, slowest, factor, shrink, i = unpick('<c8ddddddHH', value)
    -- A time is 0, or after 2001 and before 2286.
    whole = written >= 1e15 and (last == 0 or last >= 1e15) and (retry == 0 or retry >= 1e15) and (held == 0 or held >= 1e15) and (over == 0 or over >= 1e15)
      and slowest >= 0 and written + last + retry + held + over + slowest < 5e16 and factor <= 1024
  end
  s.permits, s.name, s.written, s.known = none, name, written, whole and name == server and written <= now
  if not whole then
    last, retry, held, over, slowest, factor, shrink = 0, 0, 0, 0, 0, 0, 0
  end
  local by = whole and moved(written) or 0
  if by ~= 0 then
    last, retry, held, over = last > 0 and last + by or 0, retry > 0 and retry + by or 0, held > 0 and held + by or 0, over > 0 and over + by or 0
  end
  s.last, s.retry, s.held, s.over, s.slowest, s.factor, s.shrink = last, retry, held, over, slowest, factor, shrink
  if whole and #value > 60 then
    s.permits = {}
    while i <= #value do
      local p = {}
      p.id, p.start, p.before, p.lifetime, i = unpick('<c8ddI4', value, i)
      p.start, p.before, p.shared = p.start + by, p.before + by, byte(p.id) == 255
      local ends = p.start + p.lifetime * 1000
      if gone and not p.shared and now - p.start >= timeout then
        p.doubted = sub(p.id, 1, 5)
        if p.doubted == gone then ends = min(ends, max(p.start + timeout, now - gone_for)) end
      end
      if ends > now then
        s.permits[#s.permits + 1] = p
      else
        s.last = max(s.last, ends)
        if p.shared then overload(ends) end -- the request counts as timed out
      end
    end
  end
  if s.factor > 0 and now - s.over >= forget then s.factor, s.shrink = 0, 0 end
  if server and not s.known then s.last = max(s.last, now + startable) end
end

-- write keeps a state until it no longer counts, ten minutes at least. A script that does not
-- know its server leaves it to the next one to find whether the state was old.
local function write(key)
  local till = max(now + 600000000, s.retry, s.held, s.last + s.slowest, s.factor > 0 and s.over + forget or 0)
  local permits = ''
  for _, p in ipairs(s.permits) do
    till = max(till, p.start + p.lifetime * 1000 + s.slowest)
    permits = permits .. pack('<c8ddI4', p.id, p.start, p.before, p.lifetime)
  end
  set(key, pack('<c8ddddddHH', server or s.name or '\0\0\0\0\0\0\0\0', not server and s.written or now, s.last, s.retry, s.held, s.over, s.slowest, s.factor, s.shrink) .. permits,
    (till - now) / 1000 + 2)
end
