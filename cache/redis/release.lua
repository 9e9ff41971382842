-- ARGV: token, or an empty one and the nonce of the request for the lease.
local known = read()
if not known then return {LATER} end
if known.lease and (known.token == ARGV[1] or known.nonce == ARGV[2]) then
  if known.token == known.fence then
    redis.call('SET', KEYS[1], REST .. redis.call('GETRANGE', KEYS[1], known.at, -1), 'KEEPTTL')
  else
    redis.call('SETRANGE', KEYS[1], 17, NONE)
  end
end
return {DONE}
