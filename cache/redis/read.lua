-- KEYS: record. ARGV: prefix of body keys.
-- Returns the record and the bodies that it refers to, as of one moment: each hash, and
-- its content, empty if it is missing.
local record = read(KEYS[1])
local reply = {record}
for hash in pairs(references(record)) do
  local body = read(body_key(ARGV[1], hash))
  reply[#reply + 1] = hash
  reply[#reply + 1] = current(body, BODY_HEAD) and string.sub(body, BODY_HEAD + 1) or ''
end
return reply
