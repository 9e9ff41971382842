-- KEYS: record, its bodies
-- ARGV: prefix of body keys, fence, epoch, milliseconds to keep, encoded record;
--       for each body its hash, its content or nothing, SHA-1 of content not sent
-- What can fail for lack of memory comes before anything is deleted. (The server checks
-- its memory before the script begins.)
local prefix, fence, epoch, keep, encoded = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local old = read(KEYS[1], RECORD_HEAD + 2 * REFERENCE - 1)
if later(old) then return {LATER} end
if current(old, RECORD_HEAD) and less(fence, string.sub(old, 2, 9)) then return {REFUSED} end

local heads, whole, missing = {}, {}, {MISSING}
for i = 2, #KEYS do
  local content, sha1 = ARGV[3 * i + 1], ARGV[3 * i + 2]
  local held = read(KEYS[i])
  if later(held) then return {LATER} end
  if current(held, BODY_HEAD) then
    heads[i] = string.sub(held, 1, BODY_HEAD)
    held = string.sub(held, BODY_HEAD + 1)
    if content ~= '' then
      whole[i] = held == content
    else
      whole[i] = redis.sha1hex(held) == sha1
    end
  end
  if content == '' and not whole[i] then missing[#missing + 1] = i - 2 end
end
if #missing > 1 then return missing end

local before, after, refs = references(old), {}, ''
for i = 2, #KEYS do
  local hash, content, head = ARGV[3 * i], ARGV[3 * i + 1], heads[i]
  if not head then
    head = struct.pack('>I1I4', VERSION, 1) .. micros()
    redis.call('SET', KEYS[i], head .. content, 'PX', keep)
  else
    if not whole[i] then -- damaged
      redis.call('SET', KEYS[i], head .. content, 'KEEPTTL')
    end
    if before[hash] ~= string.sub(head, 6) then
      redis.call('SETRANGE', KEYS[i], 1, struct.pack('>I4', struct.unpack('>I4', head, 2) + 1))
    end
    redis.call('PEXPIRE', KEYS[i], keep, 'GT')
  end
  after[hash] = string.sub(head, 6)
  refs = refs .. hash .. after[hash]
end
local head = struct.pack('>I1', VERSION) .. fence .. epoch .. struct.pack('>I1', #KEYS - 1)
redis.call('SET', KEYS[1], head .. refs .. encoded, 'PX', keep)
for hash, born in pairs(before) do
  if after[hash] ~= born then release(body_key(prefix, hash), born) end
end
return {DONE}
