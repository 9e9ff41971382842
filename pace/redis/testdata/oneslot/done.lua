-- Gives grants back, one after another, and notes what the sites answered. It runs
-- where memory is full too, as others wait for the grants to be given back.
--
-- KEYS: of each grant the origin, and the address if it has a pace.
-- ARGV: doubles: grant timeout, forget, the slowest interval where nothing is known.
-- Then of each grant its id in 8 bytes; doubles: the interval of the address, 0 without
-- a pace; how long ago the response ended, the Retry-After, and the result: 0
-- nothing said, 1 overload, 2 an answer as usual, 3 not used; 4 more if that counts only
-- for a grant that is under way.
-- The reply is the time.
local got = call('MGET', unpack(KEYS))
local grant_timeout, forget, slowest = unpick('<ddd', ARGV[1])
-- What later ends find is what earlier ones wrote, false for nothing.
local written = {}

-- Takes a start at an address back.
local function unstart(address, value, given, addr_interval)
  local addr_last, at
  if value then addr_last, at = address_state(value) end
  if not addr_last then return end
  if addr_last - max(at - now, 0) ~= given then return end
  if given <= now then -- it was ready then
    written[address] = false
    call('DEL', address)
  else
    written[address] = pack('<dd', given - addr_interval, min(at, now))
    call('PSETEX', address, ceil((given - now) / 1000) + 1, written[address])
  end
end

local k = 1
for n = 2, #ARGV do
  local id, addr_interval, ago, wait, result = unpick('<c8dddd', ARGV[n])
  local key, site, address, addr = KEYS[k], got[k], nil, nil
  k = k + 1
  if addr_interval > 0 then
    address, addr, k = KEYS[k], got[k], k + 1
  end
  if written[key] ~= nil then site = written[key] end
  if written[address] ~= nil then addr = written[address] end
  local last, retry, over, slow, seen, factor, step, i, moved
  if site then last, retry, over, slow, seen, factor, step, i, moved = origin(site) end
  local grants, given, before = '', nil, 0
  local hold = lent_for(id)
  if not last then
    last, retry, over, slow, seen, factor, step = 0, 0, 0, slowest, 0, 0, 0
  else
    while i < #site do
      local name, start, earlier
      name, start, earlier, i = unpick('<c8dd', site, i)
      if moved > 0 then
        start = start - moved
        if earlier > 0 then earlier = earlier - moved end
      end
      if name == id and not (hold and start + hold <= now) then
        given, before = start, earlier
      else
        grants = grants .. pack('<c8dd', name, start, earlier)
      end
    end
  end
  local again = result >= 4
  if again then result = result - 4 end
  if (hold or again) and not given then result = 3 end -- it has ended, or was given back
  if result == 3 then
    if given and last == given then last = before end
    if given and address then unstart(address, addr, given, addr_interval) end
  else
    local at = now - ago
    if #grants == 0 and not given and max(retry, last + slow + 1, factor > 0 and over + forget or 0) <= at then
      retry, over, slow, factor, step = 0, 0, slowest, 0, 0
    end
    last = max(last, at)
    if at - over >= forget then factor, step = 0, 0 end
    if result == 1 then
      factor, step = overload(factor)
      over = max(over, at)
    elseif result == 2 then
      if factor > step + 1 then factor = factor - step else factor, step = 0, 0 end
    end
    if wait > 0 then retry = max(retry, at + wait) end
    seen = max(seen, at)
  end
  if given or result ~= 3 then
    local keep = needed_until(grants, last, retry, slow, factor, over, forget, grant_timeout)
    if keep <= now then
      written[key] = false
      call('DEL', key)
    else
      written[key] = pack('<dddddHH', last, retry, over, slow, seen, factor, step) .. grants
      call('PSETEX', key, ceil((keep - now) / 1000) + 1, written[key])
    end
  end
end
return pack('<d', now)
