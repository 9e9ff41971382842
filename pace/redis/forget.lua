-- Forgets what a site wished, in a fleet in which each site is one worker's, and ends the
-- lease of the worker that has it. That one learns so with its next renewal, and forgets the
-- same. Nobody has the site until the lease would have ended, as it is used until then.
--
-- KEYS: the site, as site.lua writes it. ARGV: what stands for the name of a worker.
-- The reply is for how long the lease would have lasted, 0 without one.
local site = redis.pcall('GET', KEYS[1])
local left = 0
if type(site) == 'string' and #site >= 64 then
  local holder, number, till, last, _, _, slow, seen = unpick('<c8I4dddddd', site)
  local name = sub(site, 65)
  left = max(till - now, 0)
  if left > 0 then holder, number, name = '\0\0\0\0\0\0\0\1', 0, ARGV[1] end -- no worker has this id
  call('SET', KEYS[1], pack('<c8I4ddddddHH', holder, number, till, last, 0, 0, slow, seen, 0, 0) .. name, 'KEEPTTL')
end
return {pack('<d', left)}
