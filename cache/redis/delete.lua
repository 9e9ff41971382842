-- KEYS: record. ARGV: prefix of body keys.
local old = read(KEYS[1], RECORD_HEAD + 2 * REFERENCE - 1)
if later(old) then return {LATER} end
redis.call('DEL', KEYS[1])
for hash, born in pairs(references(old)) do
  release(body_key(ARGV[1], hash), born)
end
return {DONE}
