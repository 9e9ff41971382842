-- The beginning of the scripts that ask in an epoch of a tag, whose name their text holds.
-- KEYS: the tag's epoch, and what is asked about; ARGV[1] says what. The reply begins with
-- the time, and is the time alone if the epoch is another one.
local arg = ARGV[1]
local got = call('MGET', unpack(KEYS))
local epoch = got[1] or ''
-- Before this time the server's memory is not to be trusted.
local since = tonumber(sub(epoch, 33))
if sub(epoch, 1, 16) ~= 'EPOCH' or not since then return pack('<d', now) end
if since > now then -- the clock was set back, and the epoch is yet to know
  since = now
  call('SET', KEYS[1], sub(epoch, 1, 32) .. format('%.0f', now))
end

-- value returns what a key holds, something that no script writes if it is of another type,
-- nothing if the key is not there.
local function value(k)
  return got[k] or type(redis.pcall('GET', KEYS[k])) == 'table' and 'of another type' or nil
end
