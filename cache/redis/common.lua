-- Every value begins with a byte, the version of its layout, below 32. A value of a later
-- release is refused (LATER) and not changed. Any other value that does not have this
-- layout is damaged and counts as absent.
--
--   record   version, fence (8), epoch (8), number of bodies (1), for each its hash (32) and birth (8), encoded record
--   body     version, references (4), birth (8), content
--   lease    version, token (8), nonce of the call that got it (8)
--   token    version, the last token granted (8)
--
-- 64-bit numbers stay strings of eight bytes: Lua's numbers end at 2^53, and its
-- comparison of strings follows the server's locale.
local VERSION = 1
local RECORD_HEAD, REFERENCE, BODY_HEAD = 18, 40, 13
local DONE, REFUSED, MISSING, LATER, EXHAUSTED = 0, 1, 2, 3, 4

local function later(value)
  return #value > 0 and string.byte(value) > VERSION and string.byte(value) < 32
end

-- read returns a value or the beginning of it, an empty one if the key is of another type.
local function read(key, last)
  local value = redis.pcall('GETRANGE', key, 0, last or -1)
  if type(value) == 'string' then return value end
  if string.sub(value.err, 1, 9) ~= 'WRONGTYPE' then error(value) end
  return ''
end

-- current says whether a value has this layout and is at least least bytes long.
local function current(value, least)
  return #value >= least and string.byte(value) == VERSION
end

local function less(a, b)
  local a1, a2 = struct.unpack('>I4I4', a)
  local b1, b2 = struct.unpack('>I4I4', b)
  return a1 < b1 or a1 == b1 and a2 < b2
end

local function micros()
  local t = redis.call('TIME')
  local n = t[1] * 1000000 + t[2]
  return struct.pack('>I4I4', math.floor(n / 4294967296), n % 4294967296)
end

local function body_key(prefix, hash)
  return prefix .. string.gsub(hash, '.', function(c) return string.format('%02x', string.byte(c)) end)
end

-- references returns the bodies that a record refers to, hash to birth.
local function references(record)
  local refs = {}
  if current(record, RECORD_HEAD) then
    for i = 1, string.byte(record, RECORD_HEAD) do
      local at = RECORD_HEAD + REFERENCE * (i - 1)
      if #record < at + REFERENCE then break end
      refs[string.sub(record, at + 1, at + 32)] = string.sub(record, at + 33, at + REFERENCE)
    end
  end
  return refs
end

-- release removes a reference, and the body with the last one. A body that was lost and
-- put again has another birth, and does not count the references to the lost one.
local function release(key, born)
  local head = read(key, BODY_HEAD - 1)
  if not current(head, BODY_HEAD) or string.sub(head, 6) ~= born then return end
  local n = struct.unpack('>I4', head, 2)
  if n > 1 then
    redis.call('SETRANGE', key, 1, struct.pack('>I4', n - 1))
  else
    redis.call('DEL', key)
  end
end
