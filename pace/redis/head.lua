-- The beginning of all scripts but epoch.lua. All times are microseconds of the server's
-- clock; 0 is never.
local call, pack, unpick = redis.call, struct.pack, struct.unpack
local max, min, ceil, byte, sub, format = math.max, math.min, math.ceil, string.byte, string.sub, string.format
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
