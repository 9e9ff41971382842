#!lua flags=no-writes,allow-stale
-- Returns the commands of a fleet that this user may not send, and sends none of them:
-- a server that takes no writes at present can answer too. The list is that of the
-- package comment, without what connecting needs and what only a cluster needs. Behind it
-- are the beginnings of keys that the user may not read and write, while he may others.
--
-- KEYS: a key of the fleet; none to ask a node of a cluster, where it need not be. ARGV: the
-- prefix; in how many parts the pace lies.
local keys = {'{' .. ARGV[1] .. '}:', ARGV[1] .. ':{'}
for part = 0, ARGV[2] - 1 do
  keys[#keys + 1] = '{' .. ARGV[1] .. ':' .. part .. '}:pace:'
end
local may, others = nil, {}
for _, key in ipairs(keys) do
  if redis.acl_check_cmd('get', key) and redis.acl_check_cmd('set', key, '') then
    may = key
  else
    others[#others + 1] = key
  end
end
if not may then may, others = keys[1], {} end
local missing = {}
for _, c in ipairs({
  {'eval', '', '0'}, {'evalsha', '', '0'}, {'time'},
  {'get', may}, {'mget', may}, {'getrange', may}, {'set', may}, {'setrange', may}, {'psetex', may},
  {'del', may}, {'pexpire', may},
  {'zadd', may}, {'zscore', may, 'x'}, {'zremrangebyscore', may}, {'zrange', may},
}) do
  if not redis.acl_check_cmd(unpack(c)) then
    missing[#missing + 1] = c[1]
  end
end
return {table.concat(missing, ', '), unpack(others)}
