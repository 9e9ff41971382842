#!lua flags=allow-oom
-- Releases permits, one after another, with the results of their requests. It runs where memory is
-- full too.
--
-- KEYS: of each permit the origin.
-- ARGV: [1] what arguments.lua reads; then of each permit '<c8ddB' its id, zeros for a request without
-- one, such as a fetch of robots.txt; how long ago the response ended; the Retry-After; the result
-- (see release.go). [2] is set to find whether the state is old.
-- Writes: the state without the permit, unless an unused permit is unknown.
-- Reply: '<dc8' time, and the server, or zeros without ARGV[2].
-- Repeated: changes nothing.
local needs_server = ARGV[2]
--> head.lua
--> arguments.lua
local gone, timeout -- only acquire.lua has a list of workers that are gone
for k = 1, #KEYS do
  local key = KEYS[k]
  local id, ended_ago, retry_after, result
  id, ended_ago, retry_after, result, n = unpack('<c8ddB', arg, n)
  --> read_site.lua
  local ended = now - ended_ago
  if result == 3 then -- unused
    if last == permit_start then last = permit_last end
  elseif result == 4 then -- delete Retry-After and back-off
    retry, overload, factor, step = 0, 0, 0, 0
  else
    last = max(last, ended)
    if permit_start and result == 1 then
      local overloaded_at = ended
      --> overload.lua
    elseif permit_start and result == 2 and factor > 0 then
      if factor > step + 1 then factor = factor - step else factor, step = 0, 0 end
    end
    if retry_after > 0 then retry = max(retry, ended + retry_after) end
  end
  if permit_start or result ~= 3 then
    --> write_site.lua
  end
end
return pack('<dc8', now, server or '\0\0\0\0\0\0\0\0')
