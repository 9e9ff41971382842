package redis

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/internal/queue"
)

var (
	// ErrDrained is in the errors of a worker that an operator has drained.
	ErrDrained = errors.New("an operator has drained this worker")

	errClosed      = errors.New("the limiter is closed")
	errRecordsOnly = errors.New("this worker acquires no permits: it was opened for records only")
)

// Limiter is a pace.Limiter that all processes with one Redis share.
type Limiter struct {
	client   rueidis.Client
	options  Options
	nodes    *nodes
	parts    []part
	config   atomic.Pointer[config]
	adopting sync.Mutex // held to change config
	queues   queue.Queues
	permits  sync.Map // of *heldPermit, by the id of the permit

	worker     [5]byte
	lastID     atomic.Uint64 // of a permit of this worker
	acquired   atomic.Uint64 // permits that callers got since the last heartbeat
	pending    pendingReleases
	lastReport time.Time // when the last heartbeat was made, zero for never

	down    atomic.Pointer[time.Time] // the time since which some server has been unreachable
	renewed atomic.Pointer[time.Time] // when the last memory loss was reported
	running sync.WaitGroup

	closing context.Context
	close   context.CancelFunc
}

var _ pace.Limiter = (*Limiter)(nil)

// New returns a limiter on a server or cluster, and starts its two goroutines, which Close
// ends. The client stays the caller's; its SelectDB must be the same for all workers. The
// error is about the options, also where they differ from the fleet's, or the user's rights.
// An unreachable server is no error: callers wait until it answers.
func New(client rueidis.Client, o Options) (*Limiter, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	l := &Limiter{
		client: client, options: o, nodes: newNodes(client, o.Prefix, o.MaxBackOff),
	}
	l.pending.wake = make(chan struct{}, 1)
	l.parts = make([]part, l.nodes.parts())
	for i := range l.parts {
		l.parts[i].gone.Store(&goneWorkers{at: clock()})
	}
	binary.BigEndian.PutUint32(l.worker[1:], rand.Uint32())
	l.worker[0] = byte(1 + rand.N(untrustedMark-1))
	l.lastID.Store(rand.Uint64())
	l.config.Store(&config{settings: o.Options})
	l.closing, l.close = context.WithCancel(context.Background())
	if err := l.join(); err != nil {
		l.close()
		return nil, err
	}
	l.running.Go(l.loop)
	l.running.Go(l.listen)
	return l, nil
}

// Close ends the heartbeats. Later calls of all methods but Release fail, as do those that
// wait; Release then sends at once or returns an error. Close does not close the client.
func (l *Limiter) Close() error {
	l.close()
	l.running.Wait()
	return nil
}

// settings are those of the fleet, as far as they are known.
func (l *Limiter) settings() *pace.Options { return &l.config.Load().settings }

// stopped returns why this worker acquires no permits, nil if it does.
func (l *Limiter) stopped(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !clock().Before(deadline) {
		<-ctx.Done() // at its deadline a connection may end before the context does
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case l.closing.Err() != nil:
		return errClosed
	case l.options.RecordsOnly:
		return errRecordsOnly
	}
	return l.config.Load().stop
}

// Drained reports whether this worker acquires no more permits, because an operator has
// drained it or because its options are not the fleet's.
func (l *Limiter) Drained() bool { return l.config.Load().stop != nil }

// run runs a script, and notices servers that have lost their memory or were replaced.
func (l *Limiter) run(ctx context.Context, s *script.Script, calls []call) []reply {
	replies := l.nodes.run(ctx, s, calls)
	renewed := false
	for i := range replies {
		if replies[i].changed {
			renewed = true
			l.pending.sendAgain()
		}
	}
	last := l.renewed.Load()
	now := clock()
	due := last == nil || between(*last, now) > l.options.heartbeat
	if renewed && due && l.renewed.CompareAndSwap(last, &now) {
		l.options.Observe(pace.Event{Kind: pace.EventRenewed})
	}
	return replies
}

// setDown notes that a server is unreachable, or takes no writes.
func (l *Limiter) setDown(err error) {
	if kind := script.KindOf(err); l.closing.Err() != nil || kind == script.Full || kind == script.Other {
		return
	}
	if now := clock(); l.down.CompareAndSwap(nil, &now) {
		l.options.Observe(pace.Event{Kind: pace.EventDown, Err: err})
		queue.Notify(l.pending.wake)
	}
}

// setUp notes that all servers answer.
func (l *Limiter) setUp() {
	if was := l.down.Swap(nil); was != nil {
		l.options.Observe(pace.Event{Kind: pace.EventUp, Took: passed(*was)})
	}
}

// DownSince returns the time since which some server has been unreachable, or the zero time.
func (l *Limiter) DownSince() (since time.Time) {
	if down := l.down.Load(); down != nil {
		since = *down
	}
	return since
}

// newID returns the id of a permit of this worker, and sharedID that of one that belongs to
// no process.
func (l *Limiter) newID() (id permitID) {
	binary.BigEndian.PutUint64(id[:], l.lastID.Add(1)&(1<<24-1))
	copy(id[:], l.worker[:])
	return id
}

func sharedID() (id permitID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|sharedMark<<56)
	return id
}

// heldPermit is what this process knows of a permit.
type heldPermit struct {
	confirmed time.Time // before the last call by which the server confirmed it
	started   time.Time // the last start of a request, zero for none
}

// heldPermit returns what this process knows of a permit.
func (l *Limiter) heldPermit(id string) *heldPermit {
	h, _ := l.permits.LoadOrStore(id, &heldPermit{})
	return h.(*heldPermit)
}

// loop sends heartbeats, and after each what is pending. A heartbeat is early while a server is
// unreachable or something is pending.
func (l *Limiter) loop() {
	t := time.NewTimer(jittered(earlyHeartbeat))
	defer t.Stop()
	early := true
	for {
		select {
		case <-t.C:
			every := l.options.heartbeat
			early = l.heartbeat(l.closing) != nil
			if early {
				every = min(every, earlyHeartbeat)
			}
			t.Reset(jittered(every))
			l.sendPending(l.closing)
		case <-l.pending.wake:
			if !early {
				early = true
				t.Reset(jittered(min(earlyHeartbeat, l.options.heartbeat)))
			}
		case <-l.closing.Done():
			ctx, cancel := context.WithTimeout(context.Background(), callLimit)
			defer cancel()
			l.sendPending(ctx)
			_ = l.heartbeat(ctx) // which reports that the worker has left
			return
		}
	}
}

// sendPending sends what is pending.
func (l *Limiter) sendPending(ctx context.Context) {
	list := l.pending.drain()
	for len(list) > 0 {
		n := min(len(list), maxBatch*8)
		_ = l.send(ctx, list[:n]...) // which queues what cannot be sent
		list = list[n:]
	}
}
