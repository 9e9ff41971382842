-- The beginning of the scripts that work on states. ARGV[1] begins with the server that the
-- caller knows, zeros for none; doubles: the time at which it expects the call, if the clock was
-- not set forward; for how long after a memory loss a permit from before might start, and how long
-- after the last overload a back-off is deleted; in 2 bytes how many steps of the clock forward the
-- caller knows; and doubles: of each, the oldest first, when it was noticed, and by how much.
local arg = ARGV[1]
local clock, expected, startable, forget, count, n = unpick('<c8dddH', arg)
local steps = {}
for i = 1, 2 * count do steps[i], n = unpick('<d', arg, n) end

-- moved returns by how much the clock might have been set since a value was written. A call that
-- is later than expected is a slow one, or shows a step.
local function moved(written)
  if not server then return 0 end
  if written > now then return now - written end
  if clock ~= server then return 0 end
  local at = written
  for i = 1, #steps, 2 do
    if steps[i] >= written then at = min(at + steps[i + 1], steps[i]) end
  end
  return min(at - written + max(ceil(now - expected), 0), now - written)
end

-- The state of the current site.
local none = {}
local permits -- none if there are none
local name, written -- of the value
local known -- it is neither lost nor old
local last, retry -- the end of the last response, of a Retry-After
local over, factor, shrink -- the last overload, the back-off and how much a good response reduces it
local slowest -- interval

-- overload doubles the back-off of the site.
local function overload(at)
  if at - over >= forget then factor = 0 end
  factor = min(max(factor, 1) * 2, 1024)
  shrink, over = max(math.floor(factor / 8), 1), max(over, at)
end

-- site reads the state of an origin. The origin counts as requested now if its state is
-- missing or damaged, if another server wrote it, or if the clock was set back since. A permit
-- that has expired counts as ended then; that of a worker gone ends when the worker did, or
-- timeout after its start.
local function site(key, timeout, gone, gone_ago)
  local value, i = get(key)
  local whole = value and #value >= 52 and #value % 28 == 24
  if whole then
    name, written, last, retry, over, slowest, factor, shrink, i = unpick('<c8dddddHH', value)
    -- A time is 0, or after 2001 and before 2286.
    whole = written >= 1e15 and (last == 0 or last >= 1e15) and (retry == 0 or retry >= 1e15) and (over == 0 or over >= 1e15)
      and slowest >= 0 and written + last + retry + over + slowest < 5e16 and factor <= 1024
  end
  permits = none
  if not whole then
    name, written, known = nil, nil, false
    last, retry, over, slowest, factor, shrink = 0, 0, 0, 0, 0, 0
  else
    known = name == server and written <= now
    local by = moved(written)
    if by ~= 0 then
      last, retry, over = last > 0 and last + by or 0, retry > 0 and retry + by or 0, over > 0 and over + by or 0
    end
    if #value > 52 then
      permits = {}
      while i <= #value do
        local p = {}
        p.id, p.start, p.before, p.lifetime, i = unpick('<c8ddI4', value, i)
        p.start, p.before, p.shared = p.start + by, p.before + by, byte(p.id) >= 254
        local ends = p.start + p.lifetime * 1000
        if gone and not p.shared and now - p.start >= timeout then
          local at = string.find(gone, sub(p.id, 1, 5), 1, true)
          while at and at % 13 ~= 1 do at = string.find(gone, sub(p.id, 1, 5), at + 1, true) end
          if at then ends = min(ends, max(p.start + timeout, now - gone_ago - unpick('<d', gone, at + 5))) end
        end
        if ends > now then
          permits[#permits + 1] = p
        else
          last = max(last, ends)
          if byte(p.id) == 255 then overload(ends) end -- the request counts as timed out
        end
      end
    end
  end
  if factor > 0 and now - over >= forget then factor, shrink = 0, 0 end
  if server and not known then last = max(last, now + startable) end
end

-- write keeps a state until it no longer counts, ten minutes at least. A script that does not
-- know its server, or that is called by one who does not, leaves it to the next one to find
-- whether the state was old.
local function write(key)
  local till = max(now + 600000000, retry, last + slowest, factor > 0 and over + forget or 0)
  local packed = ''
  for _, p in ipairs(permits) do
    till = max(till, p.start + p.lifetime * 1000 + slowest)
    packed = packed .. pack('<c8ddI4', p.id, p.start, p.before, p.lifetime)
  end
  set(key, pack('<c8dddddHH', server or name or '\0\0\0\0\0\0\0\0', (not server or known and clock ~= server) and written or now, last, retry, over, slowest, factor, shrink) .. packed,
    (till - now) / 1000 + 2)
end
