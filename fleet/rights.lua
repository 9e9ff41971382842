#!lua flags=no-writes,allow-stale
-- Returns the commands of a fleet that this user may not send, and sends none of them:
-- a server that takes no writes at present can answer too. The list is that of the
-- package comment, without what connecting needs and what only a cluster needs.
--
-- KEYS: a key of the fleet. ARGV: a key of each of its other kinds.
local missing = {}
for _, c in ipairs({
  {'eval', '', '0'}, {'evalsha', '', '0'}, {'time'},
  {'get', KEYS}, {'mget', KEYS}, {'getrange', KEYS}, {'set', KEYS}, {'setrange', KEYS}, {'psetex', KEYS},
  {'del', KEYS}, {'pexpire', KEYS},
  {'zadd', KEYS}, {'zscore', KEYS, 'x'}, {'zremrangebyscore', KEYS}, {'zrange', KEYS},
}) do
  local may = true
  if c[2] == KEYS then
    for _, key in ipairs({KEYS[1], unpack(ARGV)}) do
      c[2] = key
      may = may and redis.acl_check_cmd(unpack(c))
    end
  else
    may = redis.acl_check_cmd(unpack(c))
  end
  if not may then
    missing[#missing + 1] = c[1]
  end
end
return table.concat(missing, ', ')
