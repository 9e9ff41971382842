-- Acquires permits for origins.
--
-- KEYS: the origins. ARGV[1], after what state.lua reads, doubles: concurrency, and how long
-- after its start a permit of a worker that is gone ends. Then of each origin: the id of the
-- permit in 8 bytes, whose first 5 are its worker's, or which begins with 255 if it belongs to no
-- process, with 254 if it is also of an untrusted client; a byte, 0 to look, 1 to write too that an unknown origin counts as requested now, 2
-- to acquire a permit, 3 to move the start of one that has started no request, 4 of one that has;
-- doubles: in how long the start may be at the latest; the lifetime in 4 bytes, in milliseconds;
-- a double: the slowest interval; the number of spans in 2 bytes; doubles: the beginning of the
-- first span, and of each its end and its interval, below 0 while the site is closed. ARGV[2]: of
-- each worker that was gone the id and a double, for how long; ARGV[3]: how long ago that was.
--
-- The reply is the time and the server. Then of each origin: G granted, R refused, A if the
-- server is another one or the time is outside the spans; the start, the end of the last
-- response, the end of a Retry-After; the back-off; 1 if too many permits are acquired.
local concurrency, timeout
concurrency, timeout, n = unpick('<dd', arg, n)
local gone, gone_ago = ARGV[2], unpick('<d', ARGV[3])
local answers = {pack('<dc8', now, server)}
for k, key in ipairs(KEYS) do
  local id, mode, within, lifetime, interval, spans, from
  id, mode, within, lifetime, interval, spans, from, n = unpick('<c8BdI4dHd', arg, n)
  site(key, timeout, gone, gone_ago)
  local others, mine = none, mode <= 2
  if permits ~= none then others = {} end
  for _, p in ipairs(permits) do
    if p.id ~= id then
      others[#others + 1] = p
    else
      mine = true
      if last == p.start and (mode == 2 or mode == 3) then last = p.before end
    end
  end

  -- This is Schedule.Next over the spans.
  local busy = #others >= concurrency
  local ended = busy and max(last, now) or last
  local u, start, to = max(now, retry), nil, from
  local following = n + 16 * spans
  while n < following do
    local interval
    to, interval, n = unpick('<dd', arg, n)
    if u < to then
      if interval >= 0 then
        local open = 0
        if ended > 0 then
          if factor > 0 then interval = max(interval, min(max(interval, 1000000) * factor, 86400000000)) end
          open = ended + ceil(interval)
        end
        if open < to or open <= u then
          start = max(open, u)
          break
        end
      end
      u = to
    end
  end
  n = following
  local code, before = 'R', last
  if clock ~= server or from > now or not start and to <= now + within then
    code = 'A'
  elseif mode >= 2 and mine and not busy and start and start - now <= within then
    code = 'G'
    if others == none then others = {} end
    others[#others + 1] = {id = id, start = start, before = last, lifetime = lifetime}
    permits, last, slowest = others, max(last, start), interval
  end
  if code == 'G' or mode >= 1 and not known then write(key) end
  answers[k + 1] = pack('<c1dddHB', code, start or to, before, retry, factor, busy and 1 or 0)
end
return table.concat(answers)
