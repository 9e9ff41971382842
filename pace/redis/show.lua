#!lua flags=no-writes
-- Returns the state of an origin.
--
-- KEYS: the origin.
-- ARGV: [1] what arguments.lua reads.
-- Writes: nothing.
-- Reply: '<dc8BdddH' time, server, 1 if the origin is known, last, retry, overload, factor; the
-- permits as read_site.lua has them.
-- Repeated: the same.
local needs_server = true
--> head.lua
--> arguments.lua
local key, id, gone, timeout = KEYS[1]
--> read_site.lua
return pack('<dc8BdddH', now, server, known and 1 or 0, last, retry, overload, factor) .. permits
