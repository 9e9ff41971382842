-- Changes the state of an origin for an operator.
--
-- KEYS: the origin. ARGV[1], after what state.lua reads: h to hold the site, r to release it, f
-- to delete its Retry-After and back-off; a double: for how long to hold. The reply is the time,
-- the server, and 1 if the site was held.
local what, hold = unpick('<c1d', arg, n)
site(KEYS[1])
local was = held > now
if what == 'h' then
  held = now + hold
elseif what == 'r' then
  held = 0
else
  retry, over, factor, shrink = 0, 0, 0, 0
end
write(KEYS[1])
return pack('<dc8B', now, server, was and 1 or 0)
