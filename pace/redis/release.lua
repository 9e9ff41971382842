-- Releases permits, one after another, with the results of their requests. It runs where memory is
-- full too.
--
-- KEYS: of each permit the origin.
-- ARGV: [1] what clock.lua reads; then of each permit '<c8ddB' its id, zeros for a request without
-- one, such as a fetch of robots.txt; how long ago the response ended; the Retry-After; the result
-- (see release.go). [2] is set to find whether the state is old.
-- Writes: the state without the permit, unless an unused permit is unknown.
-- Reply: '<dc8' time, and the server, or zeros without ARGV[2].
-- Repeated: changes nothing.
for _, key in ipairs(KEYS) do
  local id, ended_ago, retry_after, result, released
  id, ended_ago, retry_after, result, n = struct.unpack('<c8ddB', arg, n)
  local writer, written, known, last, retry, overload, factor, step, slowest, permits = read_site(key)
  for i, permit in ipairs(permits) do
    if permit.id == id then released = table.remove(permits, i) end
  end
  local ended = now - ended_ago
  if result == 3 then -- unused
    if released and last == released.start then last = released.last end
  elseif result == 4 then -- delete Retry-After and back-off
    retry, overload, factor, step = 0, 0, 0, 0
  else
    last = math.max(last, ended)
    if released and result == 1 then
      overload, factor, step = add_overload(ended, overload, factor)
    elseif released and result == 2 and factor > 0 then
      if factor > step + 1 then factor = factor - step else factor, step = 0, 0 end
    end
    if retry_after > 0 then retry = math.max(retry, ended + retry_after) end
  end
  if released or result ~= 3 then
    write_site(key, writer, written, known, last, retry, overload, factor, step, slowest, permits)
  end
end
return struct.pack('<dc8', now, server or '\0\0\0\0\0\0\0\0')
