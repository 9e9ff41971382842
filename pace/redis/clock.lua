-- The arguments that the scripts about sites and addresses have in common (nodes.stateArguments),
-- and by how much the clock was set.
--
-- ARGV[1] begins with '<c8dddH': the server that the caller knows, zeros for none; the expected
-- time of the call, if the clock was not set forward; startable; for how long after the last
-- overload a back-off is kept; the number of steps of the clock forward that the caller knows.
-- Then '<dd' for each step, the oldest first: when it was noticed, and by how much. The rest, from
-- n on, is of the script.
local arg = ARGV[1]
local known_server, expected, startable, max_back_off, count, n = struct.unpack('<c8dddH', arg)
local steps = {}
for i = 1, 2 * count do steps[i], n = struct.unpack('<d', arg, n) end
local late = math.max(math.ceil(now - expected), 0) -- a call that is later than expected is a slow one, or shows a step

-- clock_shift returns by how much the clock might have been set since a value was written.
local function clock_shift(written)
  if not server then return 0 end
  if written > now then return now - written end
  if known_server ~= server then return 0 end
  local at = written
  for i = 1, #steps, 2 do
    if steps[i] >= written then at = math.min(at + steps[i + 1], steps[i]) end
  end
  return math.min(at - written + late, now - written)
end

-- shifted returns a time moved by a shift of the clock; 0 stays never.
local function shifted(at, shift)
  return at > 0 and at + shift or 0
end
