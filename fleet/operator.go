package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/redis/rueidis"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	cacheredis "github.com/robotskit/robots/cache/redis"
	"github.com/robotskit/robots/fetch"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// An Operator looks at a fleet and steers it, and is none of its workers. What it changes
// is noted in the fleet's log before, so that nothing changes without a trace.
type Operator struct {
	client rueidis.Client
	who    string
	store  *cacheredis.Store
	pace   *paceredis.Operator
}

// Operate connects to the fleet at a Redis URL. Who is the name under which the log has
// what is changed. The options are those of the workers; Observe and Log have no
// meaning here. The error is one sentence.
func Operate(ctx context.Context, url, who string, o Options) (*Operator, error) {
	option, prefix, err := o.check(url)
	if err != nil {
		return nil, err
	}
	o.complete(&option)
	client, err := connect(ctx, option)
	if err != nil {
		return nil, err
	}
	op := &Operator{client: client, who: who}
	op.store, err = cacheredis.New(client, cacheredis.Options{Prefix: prefix})
	if err == nil {
		op.pace, err = paceredis.NewOperator(client, o.limiter(prefix))
	}
	if err == nil {
		if err = op.pace.CheckLayout(ctx); !errors.Is(err, paceredis.ErrEarlier) {
			err = nil // what is wrong with the server is said by what is asked of it
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", serverName(option), errors.Join(err, op.Close()))
	}
	return op, nil
}

// Close ends the connection.
func (o *Operator) Close() error {
	var err error
	if o.store != nil {
		err = o.store.Close()
	}
	o.client.Close()
	return err
}

// A Status is how a fleet is.
type Status struct {
	At      time.Time // of the server with the list of workers
	Workers []paceredis.Worker
	Nodes   []Node
}

// A Node is one of the servers of a fleet.
type Node struct {
	Addr      string
	Err       error // why nothing else is known of it
	Replica   bool
	Version   string
	Memory    int64 // bytes that are used
	MaxMemory int64 // bytes, 0 for no bound
	Keys      int64 // of all databases, also of others than the fleet
	Rate      float64
	Up        time.Duration // since its start
}

// Status returns the workers and the servers. A server that does not answer is in the
// list, with its error; the error of Status is about the list of workers.
func (o *Operator) Status(ctx context.Context) (s Status, err error) {
	for _, n := range nodes(ctx, o.client) {
		node := Node{Addr: n.addr, Err: n.err, Replica: n.replica(), Version: n.info["redis_version"], Memory: int64(n.number("used_memory")),
			MaxMemory: int64(n.number("maxmemory")), Rate: n.number("instantaneous_ops_per_sec"), Up: time.Duration(n.number("uptime_in_seconds")) * time.Second}
		for field, value := range n.info { // db0:keys=5,expires=5,avg_ttl=0
			var keys int64
			if _, err := fmt.Sscanf(value, "keys=%d,", &keys); err == nil && len(field) > 2 && field[:2] == "db" {
				node.Keys += keys
			}
		}
		s.Nodes = append(s.Nodes, node)
	}
	if s.Workers, s.At, err = o.pace.Workers(ctx); err != nil {
		err = fmt.Errorf("the list of workers: %w", err)
	}
	return s, err
}

// A Site is what a fleet knows of an origin.
type Site struct {
	Origin robots.Origin
	Record *fetch.Record // nil if there is none
	// LeaseLeft is for how long whoever fetches robots.txt now may do so at most, 0 if
	// nobody does.
	LeaseLeft time.Duration
	Pace      paceredis.Site
}

// Site returns what is known of an origin. An error is about one part of it, and the
// others are there.
func (o *Operator) Site(ctx context.Context, origin robots.Origin) (s Site, err error) {
	s.Origin = origin
	entry, err := o.store.Get(ctx, origin)
	if errors.Is(err, cache.ErrAbsent) {
		err = nil
	}
	s.Record = entry.Record
	var lockErr error
	s.LeaseLeft, lockErr = o.store.LockLeft(ctx, origin)
	var paceErr error
	s.Pace, paceErr = o.pace.Site(ctx, origin)
	return s, errors.Join(err, lockErr, paceErr)
}

// Address returns what the pace knows of an IP address.
func (o *Operator) Address(ctx context.Context, addr netip.Addr) (paceredis.Address, error) {
	return o.pace.Address(ctx, addr)
}

// Hold keeps all workers from starting requests for pages to an origin for a time, at most
// paceredis.Forever, or until Release. What is under way goes on, and robots.txt is
// fetched when somebody asks for it and it has expired.
func (o *Operator) Hold(ctx context.Context, origin robots.Origin, d time.Duration) error {
	what := "hold " + origin.String()
	if d < paceredis.Forever {
		what += " for " + d.String()
	}
	return o.change(ctx, what, func() error { return o.pace.Hold(ctx, origin, d) })
}

// Release ends a Hold, and reports whether there was one.
func (o *Operator) Release(ctx context.Context, origin robots.Origin) (held bool, err error) {
	err = o.change(ctx, "release "+origin.String(), func() error {
		held, err = o.pace.Release(ctx, origin)
		return err
	})
	return held, err
}

// Forget forgets the record of an origin, its Retry-After and its back-off, so that its
// robots.txt is fetched anew by whoever has it not in memory. When the site was last
// asked, what is under way there and a Hold are kept. With Options.Leased a worker that has
// the site gives it up, and the site rests for as long as the lease would have lasted.
func (o *Operator) Forget(ctx context.Context, origin robots.Origin) (rests time.Duration, err error) {
	err = o.change(ctx, "forget "+origin.String(), func() error {
		var failed error
		rests, failed = o.pace.Forget(ctx, origin)
		return errors.Join(o.store.Delete(ctx, origin), failed)
	})
	return rests, err
}

// Drain tells a worker, by its id, to take no grants any more and to give back those that
// it has not used. It learns so within 7 s, until it ends or Resume is called; what is under
// way goes on to its end.
func (o *Operator) Drain(ctx context.Context, worker string) error {
	return o.change(ctx, "drain "+worker, func() error { return o.pace.Drain(ctx, worker) })
}

// Resume ends a Drain, and reports whether there was one. The worker learns so within 7 s.
func (o *Operator) Resume(ctx context.Context, worker string) (drained bool, err error) {
	err = o.change(ctx, "resume "+worker, func() error {
		drained, err = o.pace.Resume(ctx, worker)
		return err
	})
	return drained, err
}

// change notes in the log what is about to be done, and if that fails, that it did.
func (o *Operator) change(ctx context.Context, what string, do func() error) error {
	if err := o.pace.Note(ctx, o.who, what); err != nil {
		return fmt.Errorf("nothing was changed, as the log cannot be written: %w", err)
	}
	err := do()
	if err != nil {
		_ = o.pace.Note(ctx, o.who, "failed, as far as is known: "+what) // that it was tried is in the log
	}
	return err
}

// Log returns the last n changes that operators made, at most 1000, the latest first.
func (o *Operator) Log(ctx context.Context, n int) ([]paceredis.LogEntry, error) {
	return o.pace.Log(ctx, n)
}
