-- Doubles the back-off of a site.
--
-- Takes and sets overload, factor and step; takes overloaded_at.
if overloaded_at - overload >= max_back_off then factor = 0 end
factor = math.min(max(factor, 1) * 2, 1024)
step = max(math.floor(factor / 8), 1)
overload = max(overload, overloaded_at)
