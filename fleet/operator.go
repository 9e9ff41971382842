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
	"github.com/robotskit/robots/internal/duration"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// An Operator inspects and controls a fleet without being one of its workers. Each change is noted in the fleet's log.
type Operator struct {
	client rueidis.Client
	who    string
	store  *cacheredis.Store
	pace   *paceredis.Operator
}

// Operate connects to the fleet at a Redis URL. The log notes changes under the name who. Of the options those about the
// connection are used. The error is one sentence.
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
		op.pace, err = paceredis.NewOperator(client, prefix)
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

// A Status is the state of a fleet.
type Status struct {
	At      time.Time // of a server with the list of workers
	Workers []paceredis.Worker
	Nodes   []Node
}

// A Node is one of the servers of a fleet.
type Node struct {
	Addr      string
	Err       error // why nothing else is known of it
	Replica   bool
	Version   string
	Memory    int64 // bytes used
	MaxMemory int64 // bytes, 0 for no limit
	Keys      int64 // of all databases, of others than the fleet too
	Rate      float64
	Up        time.Duration // since its start
}

// Status returns the workers and the servers. A server that does not answer is listed with its error. The error of Status is about
// parts of the list of workers, of which the rest is returned.
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
	// LeaseLeft is how long the lock of the worker that fetches robots.txt now lasts at most, 0 if none does.
	LeaseLeft time.Duration
	Pace      paceredis.Site
}

// Site returns what is known of an origin. An error is about one part of it; the others are returned.
func (o *Operator) Site(ctx context.Context, origin robots.Origin) (s Site, err error) {
	s.Origin = origin
	entry, err := o.store.Get(ctx, origin)
	if errors.Is(err, cache.ErrAbsent) {
		err = nil
	}
	s.Record = entry.Record
	var lockErr, paceErr error
	s.LeaseLeft, lockErr = o.store.LockLeft(ctx, origin)
	s.Pace, paceErr = o.pace.Site(ctx, origin)
	return s, errors.Join(err, lockErr, paceErr)
}

// Address returns what is known of an IP address.
func (o *Operator) Address(ctx context.Context, addr netip.Addr) (paceredis.Address, error) {
	return o.pace.Address(ctx, addr)
}

// Config returns the options that all workers have in common.
func (o *Operator) Config(ctx context.Context) (paceredis.Config, error) { return o.pace.Config(ctx) }

// Configure changes the options that all workers have in common. What describes the change in the log. Workers that were started
// with another value stop acquiring permits.
func (o *Operator) Configure(ctx context.Context, what string, change func(*paceredis.Config)) error {
	return o.change(ctx, "config "+what, func() error { return o.pace.Change(ctx, change) })
}

// Hold keeps all workers from starting requests for pages to a target for a time, at most paceredis.Forever, or until Release.
// Requests in progress continue, and robots.txt is still fetched.
func (o *Operator) Hold(ctx context.Context, t paceredis.Target, d time.Duration) error {
	what := "hold " + t.String()
	if d < paceredis.Forever {
		what += " for " + duration.Text(d)
	}
	return o.change(ctx, what, func() error { return o.pace.Hold(ctx, t, d) })
}

// Parts returns in how many parts, on servers of their own, the list of workers lies.
func (o *Operator) Parts() int { return o.pace.Parts() }

// Held returns what is held.
func (o *Operator) Held(ctx context.Context) ([]paceredis.Held, error) { return o.pace.Held(ctx) }

// Release ends a Hold, and reports whether there was one.
func (o *Operator) Release(ctx context.Context, t paceredis.Target) (held bool, err error) {
	err = o.change(ctx, "release "+t.String(), func() error {
		held, err = o.pace.Release(ctx, t)
		return err
	})
	return held, err
}

// Forget deletes the record of an origin, its Retry-After and its back-off, so that robots.txt is fetched again by workers that do
// not have it in memory. Its interval, permits and holds stay.
func (o *Operator) Forget(ctx context.Context, origin robots.Origin) error {
	return o.change(ctx, "forget "+origin.String(), func() error {
		return errors.Join(o.store.Delete(ctx, origin), o.pace.Forget(ctx, origin))
	})
}

// Drain makes a worker, named by its id, acquire no more permits, until it ends or Resume is called. It notices within 7 s; requests
// in progress continue.
func (o *Operator) Drain(ctx context.Context, worker string) error {
	return o.change(ctx, "drain "+worker, func() error { return o.pace.Drain(ctx, worker) })
}

// Resume ends a Drain, and reports whether there was one.
func (o *Operator) Resume(ctx context.Context, worker string) (drained bool, err error) {
	err = o.change(ctx, "resume "+worker, func() error {
		drained, err = o.pace.Resume(ctx, worker)
		return err
	})
	return drained, err
}

// A NoteError reports that a change was made, but could not be noted in the log.
type NoteError struct{ Err error }

// Error says what happened.
func (e *NoteError) Error() string {
	return "the change was made, but not noted in the log: " + e.Err.Error()
}

// Unwrap returns Err.
func (e *NoteError) Unwrap() error { return e.Err }

// change makes a change and then notes it: with a part of a cluster unreachable the change matters more than its note.
func (o *Operator) change(ctx context.Context, what string, do func() error) error {
	err := do()
	if err != nil {
		what = "failed or incomplete: " + what
	}
	noted := o.pace.Note(ctx, o.who, what)
	if err == nil && noted != nil {
		return &NoteError{noted}
	}
	return err
}

// Log returns the last n changes that operators made, at most 1000, the latest first.
func (o *Operator) Log(ctx context.Context, n int) ([]paceredis.LogEntry, error) {
	return o.pace.Log(ctx, n)
}
