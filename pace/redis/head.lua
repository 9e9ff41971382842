-- The beginning of all scripts. Times and durations are doubles, in microseconds of the server's
-- clock; the time 0 is never. Formats in comments are those of struct.pack.
--
-- The line "--> FILE" in a script includes that file. What scripts have in common is in files, not in
-- functions, because Lua makes the functions and tables of a script whenever it runs, with an object for
-- each local variable that a function uses from outside, and collects them later. That would take a
-- fifth of the time of a script. The state of a site is no table for the same reason.
--
-- Takes needs_server. Sets now, and server, which is nil without needs_server.
local max = math.max
local pack = struct.pack
local unpack = struct.unpack
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- A server has another replication id after each restart and each failover, so a value that was
-- written under another one might be old. The scripts use its first bytes.
local server
if needs_server then
  local info = redis.call('INFO', 'replication')
  local _, label_end = string.find(info, 'master_replid:', 1, true)
  server = string.sub(info, label_end + 1, label_end + 8)
end
