// Package redis is a pace.Limiter that the processes of a fleet share through
// Redis: however many crawl, every site sees one crawler that keeps its pace.
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis:6379"}})
//	limiter, err := redis.New(client, redis.Options{})
//	grant, err := limiter.Wait(ctx, pace.Key{Origin: origin, Addr: addr}, schedule)
//	...                                          // one request
//	limiter.Done(ctx, grant, pace.Result{Status: 200})
//
// A decision is one script on the server, by the server's clock: it reads the
// state of the origin and of the address (its interval, which pace.Options.Addresses
// may set by prefix, comes with the request), finds the start as Schedule.NextIn
// does, and writes the grant. Back-off and Retry-After that one worker is told
// hold for all. Decisions of one process that find others on their way go to the
// server together, up to 32 in one script. It needs Redis 7.0 or later, or Valkey; one
// server, one with replicas, Sentinel or a cluster, in which all keys of a fleet lie on
// one shard.
//
// # Keys
//
// All begin with {PREFIX}:pace:1:, where PREFIX is Options.Prefix and 1 the
// version of what they hold. Values are packed; times are microseconds.
//
//	{robots}:pace:1:origin:http://a.example  end of the last response, Retry-After, last overload,
//	                                         slowest interval, last writing, back-off, grants under way,
//	                                         whose names begin with their worker's
//	{robots}:pace:1:address:192.0.2.1        last start, last writing
//	{robots}:pace:1:fetches:192.0.2.1        start of the last fetch of robots.txt that is booked
//	{robots}:pace:1:epoch                    since when the server's memory is whole; workers
//	{robots}:pace:1:workers                  sorted set: worker, last beat
//
// A value that no worker has written is not known: its site or address counts as asked
// when that is found, rests one interval and has a state again. A damaged epoch begins
// anew, so that all sites rest one interval, and so does a damaged list of workers.
//
// States expire when they say no more than a state that is not there. An origin
// takes some 210 bytes of the server for as long (10^5 of them, half with a
// grant under way). The server must have maxmemory-policy noeviction: a state that is
// evicted is a site that was never asked. New does not look, fleet.Open does.
//
// A user needs no more than this (TestUser). Without INFO a limiter works; it then
// notices a server that was exchanged only by the scripts that it does not know.
// A client that is not made with DisableCache needs +client|tracking too. Redis 7.2 and
// later know CLIENT SETINFO, by which rueidis names itself and without which it does.
//
//	ACL SETUSER robots on >SECRET resetkeys ~{robots}:pace:* resetchannels -@all
//	  +hello +auth +ping +cluster|slots +cluster|shards
//	  +eval +evalsha +time +get +mget +set +psetex +del +zadd +zscore +zremrangebyscore +zrange +info
//
// # Waiting
//
// In a process the callers of one origin wait in the order of their arrival, and
// only the first asks the server: when the site may be free, not before, and up
// to 25 ms early, for a start that it then sleeps to. So the processes that wait
// for one site do not crowd at its start. Among processes there is no order.
// Grants are named by the client, so that one whose reply is lost is given back.
//
// A worker tells the server every five seconds that it lives. When the server has not
// heard of it for 15 s its grants end. So one that was itself stopped for that long, or
// has had no answer to its beats, does not use what it was granted before: Wait asks
// again, also where it was stopped for a second between the server's answer and the
// start, and Limiter.Valid tells those who have their grant already.
//
// # What the server's memory is worth
//
// A limiter must not take a server that forgot for a site that was never asked.
// The epoch says since when the memory is whole; whatever was last written
// before, or is not there, counts as asked at that moment, so each site waits one
// interval. A client that knows one epoch and finds none, or an older one, begins
// a new one. The name of the epoch is in the text of the script as well, and
// servers keep scripts in memory only: one that does not know the script is not
// the one on which the epoch began, or began again itself. With every beat a
// client compares the server's run and replication ids too (INFO). Many clients
// that doubt one epoch begin one, not one each.
//
// # When things fail
//
// "Down" is a call that fails or takes longer than a second. N is the number of
// workers, the larger of Options.Workers and those last seen; I the interval of a
// site. But for what is not covered, two starts that the server granted are I
// apart at least.
//
//	what happens                  Divide                             Stop
//	Redis is down                 each worker goes on with N x I     no start; Reserve and NotBefore
//	                              between its starts, and N times    return ErrDown, Wait goes on
//	                              the address's interval; its first  waiting
//	                              is place x I after it noticed.
//	                              At most 2N starts in N x I
//	Redis is back                 noticed within 1.25 s, waiters      the same
//	                              within half a second more, each at
//	                              its own moment; up to 2N starts in
//	                              N x I until all workers are back
//	Redis comes and goes          each worker keeps to its share, also  starts while it is there
//	                              on the server until that has been
//	                              there for 10 s: at most N more in any
//	                              time than the rate gives, and never
//	                              none for longer than 2N x I
//	restarted, append-only or not one I of waiting for each site     the same
//	replaced by an empty one,
//	emptied, failed over
//	clock set forward             noticed in the reply: the start is  the same
//	                              given back, one I of waiting. A
//	                              Retry-After or a Hold that ended
//	                              in the jump is over. A jump below
//	                              250 ms is not noticed and may give
//	                              one early start
//	clock set back                times of a state move with it: no   the same
//	                              wait is longer by more than I, or
//	                              the Retry-After
//	memory full (noeviction)      as down, with CauseFull; Done       as down
//	                              still gets through
//	a worker dies, or is stopped  15 s after its last beat its grants  the same
//	                              end and it is off the list; one
//	                              that goes on asks again before it
//	                              sends
//	a reply is lost               the grant is given back when Redis  the same
//	                              answers; if the network holds the
//	                              request back until after that, by
//	                              Options.Hold
//	Done cannot be told           kept, 4096 of them, and told when   the same
//	                              Redis is back
//
// What a site asks for while Redis is down, by 429, 503 or Retry-After, holds for
// the worker that heard it at once and for the others when Redis is back; what it
// asked for before is known to the workers that heard it. A worker that never
// reached Redis and was not told Options.Workers stops.
//
// What is not covered:
//   - two servers that take writes for one another at the same time, each with
//     its half of the fleet: twice the rate, as long as it lasts. Sentinel and
//     clusters make it short with min-replicas-to-write;
//   - states that the server evicts;
//   - a worker that is stopped after Valid has said yes and before the request is on
//     its way, or with a machine whose clocks do not show it (some paused virtual ones);
//     of requests under way that take longer than 15 s, those whose worker the server
//     takes for gone: others may start beside them, an interval later;
//   - the pace of an address over an outage: the starts of that time are told for
//     their origins only;
//   - the fetches of robots.txt from an address when the server forgets, or comes
//     back: they are in no epoch, so one may start an interval early;
//   - the load of many sites on one address: all that wait for it ask at each of
//     its starts, a thousand of them in one process in some forty calls;
//   - a worker that begins on a replaced or emptied server before any other
//     noticed: it has nothing to compare with, and its first start at each site
//     may be early. So may one that begins just after the clock was set forward;
//   - Retry-After and back-off that the server lost: a failover loses what was not
//     replicated, an empty server all of it. The interval holds, the wish returns
//     with the next answer of the site;
//   - a server that is replaced by an equal copy of its memory and scripts, such
//     as a virtual machine that is set back, for a user who may not use INFO.
//
// What was measured stands in docs/fleet.md.
package redis
