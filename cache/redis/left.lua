-- Replies with the milliseconds that the lock still runs, 0 without one.
return left(read() or {}, micros())
