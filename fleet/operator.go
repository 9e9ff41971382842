package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	cacheredis "github.com/robotskit/robots/cache/redis"
	"github.com/robotskit/robots/fetch"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// An Operator inspects and controls a fleet without being one of its workers.
type Operator struct {
	*paceredis.Operator
	client rueidis.Client
	store  *cacheredis.Store
}

// Operate connects to the fleet at a Redis URL. The log notes changes under the name who. Of the options those about the
// connection are used. The error is one sentence.
func Operate(ctx context.Context, url, who string, o Options) (*Operator, error) {
	option, prefix, err := o.check(url)
	if err != nil {
		return nil, err
	}
	client, err := connect(ctx, option)
	if err != nil {
		return nil, err
	}
	op := &Operator{client: client}
	op.store, err = cacheredis.New(client, cacheredis.Options{Prefix: prefix})
	if err == nil {
		op.Operator, err = paceredis.NewOperator(client, prefix, who)
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
	At      time.Time // by the clock of a server that stores the list of workers
	Workers []paceredis.Worker
	Nodes   []Node
}

// A Node is one of the servers of a fleet.
type Node struct {
	Addr      string
	Err       error // the error that prevented reading the other fields, nil if none
	Replica   bool
	Version   string
	Memory    int64 // bytes used
	MaxMemory int64 // bytes, 0 for no limit
	Keys      int64 // in all databases, including keys that do not belong to the fleet
	Rate      float64
	Up        time.Duration // since its start
	// WriteErr is the error with which a primary refuses permits at present, nil if it does not.
	WriteErr error
}

// Status returns the workers and the servers. A server that does not answer is listed with its error. The error of Status is about
// parts of the list of workers, of which the rest is returned.
func (o *Operator) Status(ctx context.Context) (s Status, err error) {
	for _, n := range nodes(ctx, o.client) {
		node := Node{Addr: n.addr, Err: n.err, Replica: n.replica(), Version: n.info["redis_version"], Memory: int64(n.number("used_memory")),
			MaxMemory: int64(
				n.number("maxmemory"),
			), Rate: n.number("instantaneous_ops_per_sec"), Up: time.Duration(n.number("uptime_in_seconds")) * time.Second}
		if refused := n.refusedWrite(ctx); refused != nil {
			node.WriteErr = refused
		}
		for field, value := range n.info { // db0:keys=5,expires=5,avg_ttl=0
			var keys int64
			if _, err := fmt.Sscanf(value, "keys=%d,", &keys); err == nil && len(field) > 2 && field[:2] == "db" {
				node.Keys += keys
			}
		}
		s.Nodes = append(s.Nodes, node)
	}
	if s.Workers, s.At, err = o.Workers(ctx); err != nil {
		err = fmt.Errorf("the list of workers: %w", err)
	}
	return s, err
}

// A Site is what a fleet knows of an origin.
type Site struct {
	Origin robots.Origin
	Record *fetch.Record // nil if there is none
	// LeaseLeft is the remaining lifetime of the lock of the worker that is fetching robots.txt, 0 if there is none.
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
	s.Pace, paceErr = o.Operator.Site(ctx, origin)
	return s, errors.Join(err, lockErr, paceErr)
}

// Forget deletes the record of an origin, its Retry-After and its back-off, so that robots.txt is fetched again by workers that do
// not have it in memory. Its interval, permits and holds stay.
func (o *Operator) Forget(ctx context.Context, origin robots.Origin) error {
	return o.Noted(ctx, "forget "+origin.String(), func() error {
		return errors.Join(o.store.Delete(ctx, origin), o.Operator.Forget(ctx, origin))
	})
}
