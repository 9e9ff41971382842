-- Gives grants of one tag back, one after another, and notes what the sites answered. It
-- runs where memory is full too, as others wait for the grants to be given back.
--
-- KEYS: of each grant the origin.
-- ARGV[1]: doubles: grant timeout, forget, the slowest interval where nothing is known.
-- Then of each grant its id in 8 bytes; doubles: how long ago the response ended, the
-- Retry-After, and the result: 0 nothing said, 1 overload, 2 an answer as usual, 3 not
-- used; 4 more if that counts only for a grant that is under way.
-- The reply is the time.
local got = call('MGET', unpack(KEYS))
local grant_timeout, forget, slowest, n = unpick('<ddd', ARGV[1])
-- What later ends find is what earlier ones wrote, false for nothing.
local written = #KEYS > 1 and {}

for k = 1, #KEYS do
  local key = KEYS[k]
  local id, ago, wait, result
  id, ago, wait, result, n = unpick('<c8ddd', ARGV[1], n)
  local site = got[k]
  if written and written[key] ~= nil then site = written[key] end
  local last, retry, over, slow, seen, factor, step, grants = origin(site, slowest)
  local rows, given, before = '', nil, 0
  local hold = lent_for(id)
  for i = 1, #grants, 24 do
    local name, start, earlier = unpick('<c8dd', grants, i)
    if name == id and not (hold and start + hold <= now) then
      given, before = start, earlier
    else
      rows = rows .. pack('<c8dd', name, start, earlier) -- there are few
    end
  end
  local again = result >= 4
  if again then result = result - 4 end
  if (hold or again) and not given then result = 3 end -- it has ended, or was given back
  if result == 3 then
    if given and last == given then last = before end
  else
    local at = now - ago
    if #rows == 0 and not given and matters(last, retry, over, slow, factor, forget) <= at then
      retry, over, slow, factor, step = 0, 0, slowest, 0, 0
    end
    last = max(last, at)
    if at - over >= forget then factor, step = 0, 0 end
    if result == 1 then
      factor, step = overload(factor)
      over = max(over, at)
    elseif result == 2 then
      if factor > step + 1 then factor = factor - step else factor, step = 0, 0 end
    end
    if wait > 0 then retry = max(retry, at + wait) end
    seen = max(seen, at)
  end
  if given or result ~= 3 then
    local kept = keep(key, rows, last, retry, over, slow, seen, factor, step, forget, grant_timeout,
      given and not hold and given + grant_timeout or 0)
    if written then written[key] = kept end
  end
end
return pack('<d', now)
