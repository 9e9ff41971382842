-- ARGV: milliseconds, nonce.
-- Replies with the code, the milliseconds left, and the token if granted.
local known, now = read(), micros()
if not known then return {LATER} end
local held = left(known, now)
if held > 0 then
  if known.nonce == ARGV[2] then -- of this request, whose answer was lost
    return {DONE, held, known.token}
  end
  return {REFUSED, held}
end
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
local lease = token .. ARGV[2] .. pack(now + ARGV[1] * 1000)
if known.lease then
  redis.call('SETRANGE', KEYS[1], 1, lease)
elseif known.at then
  redis.call('SET', KEYS[1], LEASED .. lease .. redis.call('GETRANGE', KEYS[1], 1, -1), 'KEEPTTL')
else
  redis.call('SET', KEYS[1], LEASED .. lease, 'PX', KEEP)
end
redis.call('PEXPIRE', KEYS[1], KEEP, 'GT')
return {DONE, tonumber(ARGV[1]), token}
