#!lua flags=no-writes,allow-stale
-- Returns the commands of a fleet that this user may not send, and sends none of them, so that a server that takes no writes at
-- present can answer too; then the key of the arguments if the user may not read and write it.
-- KEYS: a key of the fleet, none for a node of a cluster, where it might not be. ARGV: such a key.
local key = ARGV[1]
local channel = string.gsub(key, '{.*', 'fleet')
local missing = {}
for _, c in ipairs({
  {'eval', '', '0'}, {'evalsha', '', '0'}, {'time'}, {'info'}, {'ping'},
  {'get', key}, {'mget', key}, {'getrange', key}, {'set', key}, {'setrange', key}, {'del', key}, {'pexpire', key},
  {'zadd', key}, {'zscore', key, 'x'}, {'zrange', key}, {'zrangebyscore', key, '0', '1'},
  {'zremrangebyscore', key, '0', '1'}, {'zremrangebyrank', key, '0', '1'}, {'subscribe', channel}, {'publish', channel, ''},
}) do
  if not redis.acl_check_cmd(unpack(c)) then
    missing[#missing + 1] = c[1]
  end
end
return table.concat(missing, ', ')
