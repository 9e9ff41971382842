-- Writes the state of a site, as read_site.lua has set it, until it no longer matters, for ten minutes at
-- least. A script that does not know its server, or whose caller does not, keeps the time of the last
-- write, so that the next one finds whether the state was old.
--
-- Takes what read_site.lua sets, without the permit.
local till = max(now + 600000000, retry, last + slowest, permits_end + slowest, factor > 0 and overload + max_back_off or 0)
if server and not (known and known_server ~= server) then written = now end
value = pack('<c8dddddHH', server or writer or '\0\0\0\0\0\0\0\0', written or now, last, retry, overload, slowest, factor, step) .. permits
redis.call('SET', key, value, 'PXAT', string.format('%d', till / 1000 + 2))
