-- Finds by how much the clock might have been set since a value was written.
--
-- Takes written. Sets shift.
local shift = 0
if server and written > now then
  shift = now - written
elseif server and known_server == server then
  local at = written
  for i = 1, steps do
    local noticed, step = unpack('<dd', arg, first_step + 16 * (i - 1))
    if noticed >= written then at = math.min(at + step, noticed) end
  end
  local late = math.ceil(now - expected) -- a call that is later than expected is a slow one, or shows a step
  shift = math.min(at - written + max(late, 0), now - written)
end
