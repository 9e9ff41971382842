-- The state of a site, and the arguments that its scripts have in common (nodes.stateArguments).
--
-- ARGV[1] begins with '<c8dddH': the server that the caller knows, zeros for none; the expected
-- time of the call, if the clock was not set forward; startable; for how long after the last
-- overload a back-off is kept; the number of steps of the clock forward that the caller knows.
-- Then '<dd' for each step, the oldest first: when it was noticed, and by how much. The rest, from
-- n on, is of the script.
local arg = ARGV[1]
local known_server, expected, startable, max_back_off, count, n = unpick('<c8dddH', arg)
local steps = {}
for i = 1, 2 * count do steps[i], n = unpick('<d', arg, n) end

-- clock_shift returns by how much the clock might have been set since a value was written. A call
-- that is later than expected is a slow one, or shows a step.
local function clock_shift(written)
  if not server then return 0 end
  if written > now then return now - written end
  if known_server ~= server then return 0 end
  local at = written
  for i = 1, #steps, 2 do
    if steps[i] >= written then at = min(at + steps[i + 1], steps[i]) end
  end
  return min(at - written + max(ceil(now - expected), 0), now - written)
end

-- shifted returns a time moved by a shift of the clock; 0 stays never.
local function shifted(at, shift)
  return at > 0 and at + shift or 0
end

-- The state of the current site, with the names that site has in package pace.
local no_permits = {}
local permits -- each with id, start, last (the site's before this permit), lifetime in milliseconds; no_permits for none
local writer, written -- the server that wrote the state, and when
local known -- the state is neither lost nor old
local last -- the last start or end of a response
local retry -- the end of the last Retry-After
local overload, factor, step -- the last overload; the back-off; how much a good response reduces it
local slowest -- the slowest interval

-- add_overload doubles the back-off of the site.
local function add_overload(at)
  if at - overload >= max_back_off then factor = 0 end
  factor = min(max(factor, 1) * 2, 1024)
  step = max(math.floor(factor / 8), 1)
  overload = max(overload, at)
end

-- end_of returns when a permit ends that is not released. That of a worker that is gone ends when
-- the worker did, or timeout after its start.
local function end_of(permit, timeout, gone, gone_age)
  local ends = permit.start + permit.lifetime * 1000
  if gone and byte(permit.id) < 254 and now - permit.start >= timeout then
    local worker = sub(permit.id, 1, 5)
    local at = string.find(gone, worker, 1, true)
    while at and at % 13 ~= 1 do at = string.find(gone, worker, at + 1, true) end
    if at then ends = min(ends, max(permit.start + timeout, now - gone_age - unpick('<d', gone, at + 5))) end
  end
  return ends
end

-- read_permits reads the permits from position i of a value. One that has expired counts as ended
-- then, and if its id begins with 255 as timed out.
local function read_permits(value, i, shift, timeout, gone, gone_age)
  permits = {}
  while i <= #value do
    local permit = {}
    permit.id, permit.start, permit.last, permit.lifetime, i = unpick('<c8ddI4', value, i)
    permit.start = permit.start + shift
    permit.last = permit.last + shift
    local ends = end_of(permit, timeout, gone, gone_age)
    if ends > now then
      permits[#permits + 1] = permit
    else
      last = max(last, ends)
      if byte(permit.id) == 255 then add_overload(ends) end
    end
  end
end

-- read_site reads the state of an origin. The origin counts as requested now if its state is
-- missing or damaged, if another server wrote it, or if the clock was set back since. Workers in
-- gone are gone; see acquire.lua.
local function read_site(key, timeout, gone, gone_age)
  local value, i = get(key)
  local valid = value and #value >= 52 and #value % 28 == 24
  if valid then
    writer, written, last, retry, overload, slowest, factor, step, i = unpick('<c8dddddHH', value)
    -- A time is 0, or after 2001 and before 2286.
    valid = written >= 1e15 and (last == 0 or last >= 1e15) and (retry == 0 or retry >= 1e15) and (overload == 0 or overload >= 1e15)
      and slowest >= 0 and written + last + retry + overload + slowest < 5e16 and factor <= 1024
  end
  permits = no_permits
  if valid then
    known = writer == server and written <= now
    local shift = clock_shift(written)
    last = shifted(last, shift)
    retry = shifted(retry, shift)
    overload = shifted(overload, shift)
    if #value > 52 then read_permits(value, i, shift, timeout, gone, gone_age) end
  else
    writer, written, known = nil, nil, false
    last, retry, overload, slowest, factor, step = 0, 0, 0, 0, 0, 0
  end
  if factor > 0 and now - overload >= max_back_off then factor, step = 0, 0 end
  if server and not known then last = max(last, now + startable) end
end

-- write_site writes the state until it no longer matters, for ten minutes at least. A script that
-- does not know its server, or whose caller does not, keeps the time of the last write, so that the
-- next one finds whether the state was old.
local function write_site(key)
  local till = max(now + 600000000, retry, last + slowest, factor > 0 and overload + max_back_off or 0)
  local packed = ''
  for _, permit in ipairs(permits) do
    till = max(till, permit.start + permit.lifetime * 1000 + slowest)
    packed = packed .. pack('<c8ddI4', permit.id, permit.start, permit.last, permit.lifetime)
  end
  local at = now
  if not server or known and known_server ~= server then at = written or now end
  local id = server or writer or '\0\0\0\0\0\0\0\0'
  set(key, pack('<c8dddddHH', id, at, last, retry, overload, slowest, factor, step) .. packed, (till - now) / 1000 + 2)
end
