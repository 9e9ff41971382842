-- ARGV: milliseconds. Replies with the code, and the token if granted.
local known, now = read(), micros()
if not known then return {LATER} end
if left(known, now) > 0 then return {REFUSED} end
-- The time alone would do if no clock went back and all fences were times.
local token = pack(now)
for _, last in ipairs({known.token, known.fence}) do
  if not less(last, token) then
    local high, low = struct.unpack('>I4I4', last)
    low = low + 1
    if low == 4294967296 then high, low = high + 1, 0 end
    if high == 4294967296 then return {EXHAUSTED} end
    token = struct.pack('>I4I4', high, low)
  end
end
local lock = token .. pack(now + ARGV[1] * 1000)
if known.lock then
  redis.call('SETRANGE', KEYS[1], 1, lock)
elseif known.at then
  redis.call('SET', KEYS[1], LOCKED .. lock .. redis.call('GETRANGE', KEYS[1], 1, -1), 'KEEPTTL')
else
  redis.call('SET', KEYS[1], LOCKED .. lock, 'PX', KEEP)
end
redis.call('PEXPIRE', KEYS[1], KEEP, 'GT')
return {DONE, token}
