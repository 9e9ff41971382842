-- Returns the time and the server, and the values of keys, "" for none.
local reply = {pack('<dc8', now, server)}
for i, key in ipairs(KEYS) do reply[i + 1] = get(key) or '' end
return reply
