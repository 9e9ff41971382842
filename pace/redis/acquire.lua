-- Decides on origins: looks at them, acquires permits, or moves the start of permits.
--
-- KEYS: the origins.
-- ARGV: [1] what clock.lua reads; '<dd' concurrency, worker timeout; then of each origin '<c8BdI4d'
-- permit id, mode (see acquire.go), longest wait, lifetime in milliseconds, slowest interval, and
-- its spans: '<Hd' their number and the beginning of the first, '<dd' of each its end and its
-- interval, below 0 while the site is closed. [2] '<c5d' of each worker that is gone its id and for
-- how long. [3] '<d' the age of that list.
-- Writes: the state if a permit is granted, and in all modes but 0 that of an unknown origin.
-- Reply: '<dc8' time, server; then of each origin '<c1dddHB' the code, the start, last, retry,
-- factor, 1 if too many permits are acquired. Code G: granted. R: refused. A: decide again, as the
-- server is another one, or the time is outside the spans.
-- Repeated: a permit that the origin has is not counted twice; modes 2 and 3 decide on it afresh.
local concurrency, timeout
concurrency, timeout, n = struct.unpack('<dd', arg, n)
local gone, gone_age = ARGV[2], struct.unpack('<d', ARGV[3])

-- first_start returns the earliest start in the spans from position i of arg to spans_end, nil if
-- there is none, the interval that applies there, and the end of the last span that was read. It is
-- Schedule.Next over the spans; last_end is the end of the last response.
local function first_start(i, spans_end, from, last_end, retry, factor)
  local at, to = math.max(now, retry), from
  while i < spans_end do
    local interval
    to, interval, i = struct.unpack('<dd', arg, i)
    if at < to then
      if interval >= 0 then
        local open = 0
        if last_end > 0 then
          if factor > 0 then
            interval = math.max(interval, math.min(math.max(interval, 1000000) * factor, 86400000000))
          end
          open = last_end + math.ceil(interval)
        end
        if open < to or open <= at then return math.max(open, at), to end
      end
      at = to
    end
  end
  return nil, to
end

local answers = {struct.pack('<dc8', now, server)}
for k, key in ipairs(KEYS) do
  local id, mode, max_wait, lifetime, slowest_interval, spans, from
  id, mode, max_wait, lifetime, slowest_interval, spans, from, n = struct.unpack('<c8BdI4dHd', arg, n)
  local writer, written, known, last, retry, overload, factor, step, slowest, permits
    = read_site(key, timeout, gone, gone_age)
  local others, allowed = no_permits, mode <= 2 -- modes 3 and 4 need a permit with this id
  if permits ~= no_permits then others = {} end
  for _, permit in ipairs(permits) do
    if permit.id ~= id then
      others[#others + 1] = permit
    else
      allowed = true
      if last == permit.start and (mode == 2 or mode == 3) then last = permit.last end
    end
  end
  local busy = #others >= concurrency
  local spans_end = n + 16 * spans
  local start, to = first_start(n, spans_end, from, busy and math.max(last, now) or last, retry, factor)
  n = spans_end
  local code, last_before = 'R', last
  if known_server ~= server or from > now or not start and to <= now + max_wait then
    code = 'A'
  elseif mode >= 2 and allowed and not busy and start and start - now <= max_wait then
    code = 'G'
    if others == no_permits then others = {} end
    others[#others + 1] = {id = id, start = start, last = last, lifetime = lifetime}
    permits = others
    last = math.max(last, start)
    slowest = slowest_interval
  end
  if code == 'G' or mode >= 1 and not known then
    write_site(key, writer, written, known, last, retry, overload, factor, step, slowest, permits)
  end
  answers[k + 1] = struct.pack('<c1dddHB', code, start or to, last_before, retry, factor, busy and 1 or 0)
end
return table.concat(answers)
