-- The state of a site: read_site returns it and write_site takes it, as these values in this order,
-- which have the names that they have in package pace.
--
-- writer, written: the server that wrote the state, and when.
-- known: the state is neither lost nor old.
-- last: the last start or end of a response.
-- retry: the end of the last Retry-After.
-- overload, factor, step: the last overload; the back-off; how much a good response reduces it.
-- slowest: the slowest interval.
-- permits: each with id, start, last (the site's before this permit), lifetime in milliseconds;
-- no_permits for none.
local no_permits = {}

-- add_overload doubles the back-off of a site: it returns overload, factor and step after that.
local function add_overload(at, overload, factor)
  if at - overload >= max_back_off then factor = 0 end
  factor = math.min(math.max(factor, 1) * 2, 1024)
  return math.max(overload, at), factor, math.max(math.floor(factor / 8), 1)
end

-- end_of returns when a permit ends that is not released. That of a worker that is gone ends when
-- the worker did, or timeout after its start.
local function end_of(permit, timeout, gone, gone_age)
  local ends = permit.start + permit.lifetime * 1000
  if gone and string.byte(permit.id) < 254 and now - permit.start >= timeout then
    local worker = string.sub(permit.id, 1, 5)
    local at = string.find(gone, worker, 1, true)
    while at and at % 13 ~= 1 do at = string.find(gone, worker, at + 1, true) end
    if at then ends = math.min(ends, math.max(permit.start + timeout, now - gone_age - struct.unpack('<d', gone, at + 5))) end
  end
  return ends
end

-- read_site reads the state of an origin. The origin counts as requested now if its state is
-- missing or damaged, if another server wrote it, or if the clock was set back since. A permit that
-- has expired counts as ended then, and if its id begins with 255 as timed out. Workers in gone are
-- gone; see acquire.lua.
local function read_site(key, timeout, gone, gone_age)
  local value = values[key]
  local writer, written, last, retry, overload, slowest, factor, step, i
  if value and #value >= 52 and #value % 28 == 24 then
    writer, written, last, retry, overload, slowest, factor, step, i = struct.unpack('<c8dddddHH', value)
    -- A time is 0, or after 2001 and before 2286.
    if not (written >= 1e15 and (last == 0 or last >= 1e15) and (retry == 0 or retry >= 1e15) and (overload == 0 or overload >= 1e15)
      and slowest >= 0 and written + last + retry + overload + slowest < 5e16 and factor <= 1024) then writer = nil end
  end
  local known, permits = false, no_permits
  if writer then
    known = writer == server and written <= now
    local shift = clock_shift(written)
    last = shifted(last, shift)
    retry = shifted(retry, shift)
    overload = shifted(overload, shift)
    if i <= #value then permits = {} end
    while i <= #value do
      local permit = {}
      permit.id, permit.start, permit.last, permit.lifetime, i = struct.unpack('<c8ddI4', value, i)
      permit.start = permit.start + shift
      permit.last = permit.last + shift
      local ends = end_of(permit, timeout, gone, gone_age)
      if ends > now then
        permits[#permits + 1] = permit
      else
        last = math.max(last, ends)
        if string.byte(permit.id) == 255 then overload, factor, step = add_overload(ends, overload, factor) end
      end
    end
  else
    written, last, retry, overload, slowest, factor, step = nil, 0, 0, 0, 0, 0, 0
  end
  if factor > 0 and now - overload >= max_back_off then factor, step = 0, 0 end
  if server and not known then last = math.max(last, now + startable) end
  return writer, written, known, last, retry, overload, factor, step, slowest, permits
end

-- write_site writes the state until it no longer matters, for ten minutes at least. A script that
-- does not know its server, or whose caller does not, keeps the time of the last write, so that the
-- next one finds whether the state was old.
local function write_site(key, writer, written, known, last, retry, overload, factor, step, slowest, permits)
  local till = math.max(now + 600000000, retry, last + slowest, factor > 0 and overload + max_back_off or 0)
  local packed = ''
  for _, permit in ipairs(permits) do
    till = math.max(till, permit.start + permit.lifetime * 1000 + slowest)
    packed = packed .. struct.pack('<c8ddI4', permit.id, permit.start, permit.last, permit.lifetime)
  end
  local at = now
  if not server or known and known_server ~= server then at = written or now end
  local id = server or writer or '\0\0\0\0\0\0\0\0'
  values[key] = struct.pack('<c8dddddHH', id, at, last, retry, overload, slowest, factor, step) .. packed
  redis.call('SET', key, values[key], 'PX', string.format('%d', (till - now) / 1000 + 2))
end
