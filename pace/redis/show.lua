-- Returns the state of an origin.
--
-- KEYS: the origin.
-- ARGV: [1] what clock.lua reads.
-- Writes: nothing.
-- Reply: '<dc8BdddH' time, server, 1 if the origin is known, last, retry, overload, factor; then of
-- each permit '<c8dd' its id, its start and its end.
-- Repeated: the same.
local _, _, known, last, retry, overload, factor, _, _, permits = read_site(KEYS[1])
local reply = {struct.pack('<dc8BdddH', now, server, known and 1 or 0, last, retry, overload, factor)}
for _, permit in ipairs(permits) do
  reply[#reply + 1] = struct.pack('<c8dd', permit.id, permit.start, permit.start + permit.lifetime * 1000)
end
return table.concat(reply)
