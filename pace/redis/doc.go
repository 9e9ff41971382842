// Package redis is a pace.Limiter that the processes of a fleet share through
// Redis: however many crawl, every site sees one crawler that keeps its pace.
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis:6379"}})
//	limiter, err := redis.New(client, redis.Options{})
//	grant, err := limiter.Wait(ctx, pace.Key{Origin: origin}, schedule)
//	turn, err := limiter.Visit(ctx, grant, addr, schedule) // which polite does in the dialer
//	...                                          // one request
//	limiter.Done(ctx, grant, pace.Result{Status: 200})
//
// A page takes three calls. The first is a decision: one script on the server of the origin,
// by that server's clock. It reads the state of the origin, finds the start as
// Schedule.NextIn does, and writes the grant. The second books the next start at the
// address, on the server that has that, and only durations go from one to the other. Done is
// the third. Back-off and Retry-After that one worker is told count for all.
//
// The limiter needs Redis 7.0 or later, or Valkey: one server, one with replicas,
// Sentinel, or a cluster, over all of whose nodes the state lies. So that the rest of a
// cluster goes on without one node, set cluster-require-full-coverage no.
//
// # Keys
//
// The state lies in 256 tags. The tag of an origin or an address is {PREFIX:n}, where PREFIX
// is Options.Prefix and n the 32-bit FNV-1a hash of its text modulo 256. All of a tag is in
// one slot of a cluster, so a script reaches it all. One server is the simple case: a script
// reaches all tags, and they have one epoch, that of tag 0. Behind the tag stands pace:2:, the version of the values. Values are packed;
// times are microseconds.
//
//	{robots:7}:pace:2:origin:http://a.example  end of the last response, Retry-After, last overload,
//	                                           slowest interval, last writing, back-off, grants under way,
//	                                           whose ids begin with that of their worker,
//	                                           or say for how long they are lent, and
//	                                           until when an operator holds the site
//	{robots:7}:pace:2:address:192.0.2.1        last start of a page and of a fetch of robots.txt that are
//	                                           booked, last writing
//	{robots:7}:pace:2:site:http://a.example    who has the site and until when, and its state, see Leased
//	{robots:7}:pace:2:epoch                    since when the memory of the tag is whole
//	{robots}:pace:2:workers                    sorted set: worker, last heartbeat
//	{robots}:pace:2:worker:5f0c2a91d3          its grants per second, how many tags it cannot reach, its name
//	{robots}:pace:2:drain:5f0c2a91d3           an operator has told it to take no grants
//	{robots}:pace:2:resume:5f0c2a91d3          and then to take grants again
//	{robots}:pace:2:kind                       whether the workers are Leased
//	{robots}:pace:2:mixed                      the worker that was turned away last, as it is and they
//	                                           are not, or they are
//	{robots}:pace:2:log                        sorted set: what operators changed, when
//
// Where a value is damaged, its site or address counts as asked at the moment at which
// that is found: it rests one interval and has a state again. Instead of a damaged epoch
// a new one begins, and all that is in the tag rests one interval. A damaged list of workers
// begins empty. New refuses a server with the keys of the layout before, pace:1, and says
// what to do.
//
// States expire when they say no more than a state that is not there, of an origin not
// before Options.GrantTimeout has passed since its last grant. An origin
// takes some 210 bytes of the server for as long (10^5 of them, half with a
// grant under way). The server must have maxmemory-policy noeviction: a site whose
// state is evicted counts as never asked. New does not check the policy, fleet.Open does.
//
// A user needs these rights and no more (TestUser). A client that is made without
// DisableCache needs +client|tracking too.
//
//	ACL SETUSER robots on >SECRET resetkeys ~{robots}:pace:* ~{robots:*}:pace:* resetchannels -@all
//	  +hello +auth +ping +cluster|slots +cluster|shards
//	  +eval +evalsha +time +get +mget +set +psetex +del +zadd +zscore +zremrangebyscore +zrange
//
// # Waiting
//
// In a process the callers of one origin are served in the order of their arrival. Only
// the first asks the server, when the site may be free or up to 25 ms before, and then
// sleeps until its start. So the processes that wait for one site do not all ask at its
// start. Among processes there is no order. The client makes the id of a grant, so that
// a grant whose reply is lost can be given back.
//
// A worker sends a heartbeat every five seconds to the list of workers, and learns who has
// sent none for 15 s. The grants of these end where somebody asks for their site,
// but not those that they have lent (Limiter.Lend): these end when they are given back,
// through any worker, or when their time is over.
// So a worker whose process was stopped for that long, or whose heartbeats had no answer,
// does not use grants that are older: Visit and Wait ask again, and Limiter.Valid returns
// false for them. While the list is away no grant ends early, and new ones go on. Wait also
// asks again if the process was stopped for a second between the server's answer and the
// start.
//
// # A pace of its own for each worker
//
// Where the frontier is partitioned, so that each site has its pages at one worker, [Leased]
// needs no call of the server for the turn of a page. A worker takes a lease of a site with its first
// question, keeps the site's pace by itself (pace.Local), and hands over with the lease what
// it knows of the site: last response, Retry-After, back-off.
//
//   - A lease lasts 60 s by the server's clock. The worker counts it from before it asked,
//     and uses it for 57 s. When half of it is over the lease is renewed if the site was used
//     since, and else given back.
//   - A second worker is refused with the name of the first and the end of its lease
//     (pace.CauseLeased), and asks again within 5 s. Its Wait goes on waiting, as for a
//     worker that leaves; once the lease was renewed twice, the first worker goes on using
//     the site, and there is a *pace.TakenError.
//   - A worker that leaves (Close) hands over all sites at once, but those at which a request
//     is under way, whose turn comes with its Done. After one that died the lease has to end,
//     and the site counts as asked until then.
//   - A worker that was stopped beyond its lease does not use its grants: Valid returns false.
//   - While Redis is down the worker goes on until its leases end, and with no other site:
//     for 27 to 57 s with those that are used. WhenDown says nothing of that.
//   - When the server has lost its memory, nobody gets a site for the time of one lease, since
//     others may have leases that are forgotten; their holders renew them. A clock that is
//     set forward is noticed in the same way, one that is set back makes no lease longer.
//   - An address belongs to no worker. Where it has a pace, Visit books each page there, which
//     is a call of the server; where it has none (Options.Addresses) nothing is.
//
// All workers of a fleet must use Leased, or none: the two do not know of each other's
// requests. So the server keeps the kind that the first worker had, as long as heartbeats
// come and for as long as the grants of a worker might last, and turns away who has another
// one ([ErrMixed]). A worker that began while Redis was down, and is turned away later, takes
// no more grants. Only Options.RecordsOnly fits both. What
// is not covered below holds here too, and a worker that begins on an emptied server before
// another has noticed may take a site that somebody has, until the next heartbeat of that
// one. A lease takes the server some 13 µs and 300 bytes. What an operator holds, and that
// a worker is drained, holds here within half of a lease, and two heartbeats. What an
// operator has forgotten a worker forgets within half of a lease, and the site rests until
// its lease would have ended (Operator.Forget).
//
// # When a server has lost its memory
//
// A server that lost its memory looks like one whose sites were never asked. So each tag has
// an epoch: the time since which its memory is whole. A state that was written before, or
// that is not there, counts as asked when the epoch began, so each site waits one
// interval, and each address one gap. A client begins a new epoch when it finds none, or an
// older one than it knows.
// The name of the epoch is also in the text of the tag's script, and servers keep scripts in
// memory only: a server that does not know the script was restarted, or is another one. So a
// tag that moves to another node of a cluster is in a new epoch there. While its keys lie on
// two nodes its calls are made again for up to a second. Clients that doubt an epoch at the
// same time begin one new epoch in all.
//
// A server that was restarted, or a replica that took over, may know that a grant was given
// and have lost that it was given back. So every worker that comes to a new epoch gives the
// grants back once more that it gave back just before, at most 64 of them in a tag (16,384 on
// one server), and asks
// with its heartbeats for the epochs of tags that it has left; what came of these grants
// counts only where the server has lost it.
//
// # When things fail
//
// Each tag of a cluster fails alone, and one server as a whole: what is down, restarted, emptied, failed over, moved, or has its clock
// set is the tags on one server, and only the sites and addresses in these wait or are
// divided. A tag is down when a call fails or takes longer than a second. Below, N is the
// number of workers, the larger of Options.Workers and those last seen; I is the interval of
// a site, or the gap of an address. Two starts that the servers granted are at least I
// apart, except in the cases that are listed as not covered.
//
//	what happens                  Divide                             Stop
//	Redis is down                 each worker goes on with N x I     no start; Reserve and NotBefore
//	                              between its starts, and N times    return ErrDown, Wait goes on
//	                              the address's interval. The first  waiting; Visit says with a
//	                              starts are one after another, I    MissedError when to come again
//	                              apart, from I after the workers
//	                              noticed. At most 2N in N x I
//	Redis is back                 noticed within 1.25 s, by callers  the same
//	                              of Wait in half a second more. Up
//	                              to 2N starts in N x I until all
//	                              workers are back
//	Redis comes and goes          each worker keeps to its share,    starts while it is there
//	                              also on the server until that has
//	                              been there for 10 s: at most N
//	                              starts more in any time than the
//	                              rate gives; no pause is longer
//	                              than 2N x I
//	restarted, append-only or not one I of waiting for each site     the same
//	replaced by an empty one,
//	emptied, failed over
//	clock set forward             noticed in the reply: the start    the same
//	                              is given back, as is one that
//	                              waits for its address, and there
//	                              is one I of waiting. A
//	                              Retry-After or a grant that timed
//	                              out in the jump is over. A jump
//	                              below 250 ms is not noticed and
//	                              may give one early start
//	clock set back                times of a state move with it: no   the same
//	                              wait is longer by more than I, or
//	                              the Retry-After
//	memory full (noeviction)      as down, with CauseFull; Done       as down
//	                              still gets through
//	a worker dies, or is stopped  15 s after its last heartbeat its  the same
//	                              grants end and it leaves the list;
//	                              one that goes on asks again before
//	                              it sends. What it has booked at an
//	                              address costs that one gap
//	a tag moves to another node   its sites wait while it moves, and  the same
//	                              one I
//	a reply is lost               the grant is given back when Redis  the same
//	                              answers; if the network delays the
//	                              request until after that, it ends
//	                              by Options.GrantTimeout
//	Done cannot be sent           kept, 4096 of them, and sent when   the same
//	                              Redis is back
//
// What a site asks for while Redis is down, by 429, 503 or Retry-After, counts at once
// for the worker that got the answer, and for the others when Redis is back. What it
// asked for before is known to the workers that got the answer. A worker that never
// reached Redis and has no Options.Workers starts nothing.
//
// What is not covered:
//   - two servers that both take writes, each from half of the fleet (split brain): twice
//     the rate, as long as it lasts. min-replicas-to-write makes that short;
//   - states that the server evicts;
//   - a process that is stopped between Valid and its request, or a machine whose clocks
//     do not show that it was stopped (some virtual ones);
//   - requests under way that take longer than 15 s while the server does not hear of
//     their worker: others may start beside them, an interval later;
//   - requests that are under way while the clock is set forward by more than
//     Options.GrantTimeout, or that were lent: another may start beside them, an interval
//     after the jump was noticed. The same is true of one that was granted ahead (Reserve)
//     and that is not visited, if its worker has not called that server since;
//   - the pace of an address after an outage: the server learns of the starts meanwhile
//     for their origins only;
//   - a worker that begins on a replaced or emptied server before another worker has
//     noticed: it has nothing to compare with, and in its first ten seconds its first start
//     at each site may be early. The same is true of the first question that a worker asks
//     in a tag just after the clock was set forward;
//   - Retry-After and back-off that the server lost: a failover loses what was not
//     replicated, an empty server all of it. The interval stays, and the site
//     says the rest again with its next answer;
//   - a server that is replaced by an earlier copy of its memory and scripts, such as a
//     virtual machine that is set back.
//
// Measurements, and which of the two paces a fleet needs, are in docs/fleet.md.
package redis
