-- Returns the state of an origin: the time, the server, 1 if it is known; the end of the last
-- response, that of a Retry-After, the last overload, the back-off; and of each permit its id, its
-- start and its end. KEYS: the origin. ARGV[1] is what state.lua reads.
site(KEYS[1])
local reply = {pack('<dc8BdddH', now, server, known and 1 or 0, last, retry, over, factor)}
for _, p in ipairs(permits) do reply[#reply + 1] = pack('<c8dd', p.id, p.start, p.start + p.lifetime * 1000) end
return table.concat(reply)
