-- Replies with the milliseconds that the lease still runs, 0 without one.
return left(read() or {}, micros())
