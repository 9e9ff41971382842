#!lua flags=no-writes,allow-stale
-- Returns which of the commands that a fleet sends this user may not send, by
-- itself or in a script, and does none of them: a server that takes no writes at
-- present says it all the same. The list is that of the package comment, but for
-- what connecting needs and what only a cluster needs.
--
-- KEYS: a key of the fleet.
local lacking = {}
for _, c in ipairs({
  {'eval', '', '0'}, {'evalsha', '', '0'}, {'time'},
  {'get', KEYS[1]}, {'mget', KEYS[1]}, {'getrange', KEYS[1]}, {'set', KEYS[1]}, {'setrange', KEYS[1]}, {'psetex', KEYS[1]},
  {'del', KEYS[1]}, {'pexpire', KEYS[1]}, {'pttl', KEYS[1]},
  {'zadd', KEYS[1]}, {'zscore', KEYS[1], 'x'}, {'zremrangebyscore', KEYS[1]}, {'zrange', KEYS[1]},
}) do
  if not redis.acl_check_cmd(unpack(c)) then
    lacking[#lacking + 1] = c[1]
  end
end
return table.concat(lacking, ', ')
