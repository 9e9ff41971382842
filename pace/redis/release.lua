-- Releases permits, one after another, and notes the results of their requests. It runs where
-- memory is full too.
--
-- KEYS: of each permit the origin. ARGV[1], after what state.lua reads: of each permit its id
-- in 8 bytes, zeros for none, as of a fetch of robots.txt; doubles: how long ago the response
-- ended, and the Retry-After; a byte for the result: 0 no sign of load, 1 overload, 2 as usual,
-- 3 unused, 4 to delete Retry-After and back-off. ARGV[2] is given if there is no permit. The
-- reply is the time, and then the server too. To run it again changes nothing.
for _, key in ipairs(KEYS) do
  local id, ago, wait, result, permit
  id, ago, wait, result, n = unpick('<c8ddB', arg, n)
  site(key)
  for i, p in ipairs(permits) do
    if p.id == id then permit = table.remove(permits, i) end
  end
  local at = now - ago
  if result == 3 then
    if permit and last == permit.start then last = permit.before end
  elseif result == 4 then
    retry, over, factor, shrink = 0, 0, 0, 0
  else
    last = max(last, at)
    if permit and result == 1 then
      overload(at)
    elseif permit and result == 2 and factor > 0 then
      if factor > shrink + 1 then factor = factor - shrink else factor, shrink = 0, 0 end
    end
    if wait > 0 then retry = max(retry, at + wait) end
  end
  if permit or result ~= 3 then write(key) end
end
return pack('<dc8', now, server or '\0\0\0\0\0\0\0\0')
