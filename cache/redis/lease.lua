-- KEYS: lease, record, token. ARGV: milliseconds, nonce.
-- Replies with the code, the milliseconds left, and the token if granted.
local held = read(KEYS[1])
if later(held) then return {LATER} end
local left = redis.call('PTTL', KEYS[1])
if current(held, 17) and left >= 0 then
  if string.sub(held, 10) == ARGV[2] then -- of this request, whose answer was lost
    return {DONE, left, string.sub(held, 2, 9)}
  end
  return {REFUSED, left}
end
local record, last = read(KEYS[2], 8), read(KEYS[3])
if later(record) or later(last) then return {LATER} end
-- The time alone would do if no clock went back and all fences were times. The last
-- token alone would do if a failover lost no write.
local token = micros()
for _, v in ipairs({record, last}) do
  if current(v, 9) and not less(string.sub(v, 2, 9), token) then
    local high, low = struct.unpack('>I4I4', v, 2)
    low = low + 1
    if low == 4294967296 then high, low = high + 1, 0 end
    if high == 4294967296 then return {EXHAUSTED} end
    token = struct.pack('>I4I4', high, low)
  end
end
redis.call('SET', KEYS[1], struct.pack('>I1', VERSION) .. token .. ARGV[2], 'PX', ARGV[1])
redis.call('SET', KEYS[3], struct.pack('>I1', VERSION) .. token)
return {DONE, tonumber(ARGV[1]), token}
