-- KEYS: lease. ARGV: token, or an empty one and the nonce of the request for the lease.
local held = read(KEYS[1])
if later(held) then return {LATER} end
if current(held, 17) and (string.sub(held, 2, 9) == ARGV[1] or string.sub(held, 10) == ARGV[2]) then
  redis.call('DEL', KEYS[1])
end
return {DONE}
