-- The arguments that the scripts about sites and addresses have in common (nodes.stateArguments).
--
-- ARGV[1] begins with '<c8dddH': the server that the caller knows, zeros for none; the expected
-- time of the call, if the clock was not set forward; startable; for how long after the last
-- overload a back-off is kept; the number of steps of the clock forward that the caller knows.
-- Then '<dd' for each step, the oldest first: when it was noticed, and by how much. The rest, from
-- n on, is of the script.
local arg = ARGV[1]
local known_server, expected, startable, max_back_off, steps, first_step = unpack('<c8dddH', arg)
local n = first_step + 16 * steps
