#!lua flags=no-writes,allow-stale
-- Returns the commands of a fleet that this user may not send, and sends none of them:
-- a server that takes no writes at present can answer too. The list is that of the
-- package comment, without what connecting needs and what only a cluster needs.
--
-- KEYS: a key of the fleet.
local missing = {}
for _, c in ipairs({
  {'eval', '', '0'}, {'evalsha', '', '0'}, {'time'},
  {'get', KEYS[1]}, {'mget', KEYS[1]}, {'getrange', KEYS[1]}, {'set', KEYS[1]}, {'setrange', KEYS[1]}, {'psetex', KEYS[1]},
  {'del', KEYS[1]}, {'pexpire', KEYS[1]},
  {'zadd', KEYS[1]}, {'zscore', KEYS[1], 'x'}, {'zremrangebyscore', KEYS[1]}, {'zrange', KEYS[1]},
}) do
  if not redis.acl_check_cmd(unpack(c)) then
    missing[#missing + 1] = c[1]
  end
end
return table.concat(missing, ', ')
