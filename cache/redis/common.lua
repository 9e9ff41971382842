-- The one key of a script is that of an origin. Its value is at rest, or has room for a
-- lock; in the second case the record may be missing:
--
--   2, record
--   3, token (8), end of the lock (8), record
--
--   record   fence (8), and what only clients read
--
-- The token is that of the last lock; at rest it is the fence. Numbers are big-endian. The
-- end is in microseconds of the server's clock, 0 without a lock. Tokens and fences stay
-- strings of eight bytes: Lua's numbers end at 2^53, and its comparison of strings follows
-- the server's locale.
--
-- A value of a later release is refused (LATER) and not changed. Any other value that does
-- not have this layout is damaged and counts as absent.
local REST, LOCKED = '\2', '\3'
local LOCK, RECORD = 16, 8 -- sizes of the lock, and of a record at least
local NONE = string.rep('\0', 8)
local KEEP = 172800000 -- milliseconds: no lock is longer, and every token is kept for as long
local DONE, REFUSED, LATER, EXHAUSTED = 0, 1, 2, 3

local function number(s, at)
  local high, low = struct.unpack('>I4I4', s, at)
  return high * 4294967296 + low
end

local function pack(n)
  return struct.pack('>I4I4', math.floor(n / 4294967296), n % 4294967296)
end

local function less(a, b)
  local a1, a2 = struct.unpack('>I4I4', a)
  local b1, b2 = struct.unpack('>I4I4', b)
  return a1 < b1 or a1 == b1 and a2 < b2
end

local function micros()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- read returns what is known of the origin, nil if it is of a later release: lock and token
-- if there is room for a lock; fence and token if there is a record, and where that begins.
local function read()
  local value = redis.pcall('GETRANGE', KEYS[1], 0, LOCK + RECORD)
  if type(value) ~= 'string' then
    if string.sub(value.err, 1, 9) ~= 'WRONGTYPE' then error(value) end
    value = ''
  end
  local version, at, known = string.sub(value, 1, 1), 1, {}
  if version > LOCKED and version < ' ' then return nil end
  if version == LOCKED and #value > LOCK then
    known.lock = string.sub(value, 2, LOCK + 1)
    known.token = string.sub(known.lock, 1, 8)
    at = LOCK + 1
  elseif version ~= REST then
    return known
  end
  if #value >= at + RECORD then
    known.at, known.fence = at, string.sub(value, at + 1, at + 8)
    known.token = known.token or known.fence
  end
  return known
end

-- left returns how many milliseconds the lock still runs. A time that no lock reaches is
-- damage.
local function left(known, now)
  local ms = known.lock and math.ceil((number(known.lock, 9) - now) / 1000) or 0
  return ms <= KEEP and math.max(ms, 0) or 0
end
