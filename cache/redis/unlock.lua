-- ARGV: token.
local known = read()
if not known then return {LATER} end
if known.lock and known.token == ARGV[1] then
  if known.token == known.fence then
    redis.call('SET', KEYS[1], REST .. redis.call('GETRANGE', KEYS[1], known.at, -1), 'KEEPTTL')
  else
    redis.call('SETRANGE', KEYS[1], 9, NONE)
  end
end
return {DONE}
