#!lua
-- Decides on origins: looks at them, acquires permits, or moves the start of permits.
--
-- KEYS: the origins.
-- ARGV: [1] what arguments.lua reads; '<dd' concurrency, worker timeout; then of each origin '<c8BdI4d'
-- permit id, mode (see acquire.go), longest wait, lifetime in milliseconds, slowest interval, and
-- its spans: '<Hd' their number and the beginning of the first, '<dd' of each its end and its
-- interval, below 0 while the site is closed. [2] '<d' the age of the rest: '<c5d' of each worker that
-- is gone its id and for how long.
-- Writes: the state if a permit is granted, and in all modes but 0 that of an unknown origin.
-- Reply: '<dc8' time, server; then of each origin '<c1dddHB' the code, the start, last, retry,
-- factor, 1 if too many permits are acquired. Code G: granted. R: refused. A: decide again, as the
-- server is another one, or the time is outside the spans.
-- Repeated: a permit that the origin has is not counted twice; modes 2 and 3 decide on it afresh.
local needs_server = true
--> head.lua
--> arguments.lua
local concurrency, timeout
concurrency, timeout, n = unpack('<dd', arg, n)
local gone = ARGV[2]

local answers = {pack('<dc8', now, server)}
for k = 1, #KEYS do
  local key = KEYS[k]
  local id, mode, max_wait, lifetime, slowest_interval, spans, to
  id, mode, max_wait, lifetime, slowest_interval, spans, to, n = unpack('<c8BdI4dHd', arg, n)
  --> read_site.lua
  if last == permit_start and (mode == 2 or mode == 3) then last = permit_last end
  local busy = count >= concurrency
  local code, last_before = 'R', last
  if known_server ~= server or to > now then code = 'A' end

  -- The earliest start in the spans, nil if there is none. It is Schedule.Next over them.
  local start
  local at, last_end, spans_end = max(now, retry), last, n + 16 * spans
  if busy then last_end = max(last, now) end
  while not start and n < spans_end do
    local interval
    to, interval, n = unpack('<dd', arg, n)
    if at < to then
      local open = at
      if interval >= 0 and last_end > 0 then
        if factor > 0 then
          interval = max(interval, math.min(max(interval, 1000000) * factor, 86400000000))
        end
        open = max(last_end + math.ceil(interval), at)
      end
      if interval >= 0 and (open < to or open == at) then start = open else at = to end
    end
  end
  n = spans_end
  if not start and to <= now + max_wait then code = 'A' end

  -- Modes 3 and 4 need a permit with this id.
  if code == 'R' and mode >= 2 and (mode == 2 or permit_start) and not busy and start and start - now <= max_wait then
    code = 'G'
    permit_start, permit_last, permit_lifetime = start, last, lifetime
    last = max(last, start)
    slowest = slowest_interval
  end
  if code == 'G' or mode >= 1 and not known then
    if permit_start then
      permits = permits .. pack('<c8ddI4', id, permit_start, permit_last, permit_lifetime)
      permits_end = max(permits_end, permit_start + permit_lifetime * 1000)
    end
    --> write_site.lua
  end
  answers[k + 1] = pack('<c1dddHB', code, start or to, last_before, retry, factor, busy and 1 or 0)
end
return table.concat(answers)
