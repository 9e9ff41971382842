-- Changes the state of an origin as an operator wishes.
--
-- KEYS: the origin. ARGV[1]: a character: h hold, r release, f forget what the site wished;
-- doubles: for how long to hold, forget, grant timeout.
-- The reply is 1 if the site was held, else 0.
local what, hold, forget, grant_timeout = unpick('<c1ddd', ARGV[1])
local site = redis.pcall('GET', KEYS[1])
if type(site) == 'table' then site = 'of another type' end
local last, retry, over, slow, seen, factor, step, grants, _, damaged = origin(site, 0)
if damaged then
  return redis.error_reply('ERR the state of ' .. KEYS[1] .. ' is damaged: a worker that asks the site mends it')
end
local rows, was = {}, 0
for i = 1, #grants, 24 do
  local name, start, before = unpick('<c8dd', grants, i)
  if name == held_row then was = start end
  if name ~= held_row or what == 'f' then rows[#rows + 1] = pack('<c8dd', name, start, before) end
end
if what == 'h' then
  rows[#rows + 1] = pack('<c8dd', held_row, now + hold, 0)
elseif what == 'f' then
  retry, over, factor, step = 0, 0, 0, 0
end
keep(KEYS[1], table.concat(rows), last, retry, over, slow, seen, factor, step, forget, grant_timeout, 0)
return {was > now and 1 or 0}
