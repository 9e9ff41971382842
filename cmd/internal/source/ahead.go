package source

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/screen"
	"golang.org/x/sync/semaphore"
)

const (
	// ChunkLines limits how many lines are passed on together, so that passing them on costs little.
	ChunkLines = 256
	// maxAhead limits how many chunks are read ahead, so that a slow site delays few fetches. Each
	// chunkBytes of a chunk count as one, so it limits memory too.
	maxAhead   = 64
	chunkBytes = 64 << 10
)

// An Entry is a line of a list or a batch that is read ahead.
type Entry[T any] struct {
	Line   T
	Err    error         // why it has none
	Bytes  int           // of its text
	Origin robots.Origin // whose robots.txt it needs, zero if none is fetched
	Site   *Site         // of the origin, set by ReadAhead
}

// A chunk is consecutive entries, and the error after the last one.
type chunk[T any] struct {
	entries []Entry[T]
	bytes   int
	err     error
}

// units is the part of maxAhead that a chunk takes.
func (c *chunk[T]) units() int64 { return int64(min(1+c.bytes/chunkBytes, maxAhead)) }

// A readAhead is the reader of one list: it fills chunks while those before are processed.
type readAhead[T any] struct {
	live     *Live
	std      *screen.Streams
	once     bool // a site is fetched once in the run, not once in each chunk
	fetching bool // some chunk has needed a site
	budget   *semaphore.Weighted
	chunks   chan chunk[T]   // has room for all units of the budget; closed if read has processed the last one
	spare    chan []Entry[T] // of chunks that have been processed
	sites    map[robots.Origin]*Site
	fresh    []*Site // whose fetch has not begun

	turn  sync.Mutex // of the goroutine that processes a chunk
	yield func([]Entry[T], error) bool
	ended bool // nothing more is yielded
}

// ReadAhead reads entries up to an error, which is io.EOF at the end of the input, and yields them in
// chunks, the last with any other error. A chunk ends before an entry that is not ready, which means
// buffered, so that it has few bytes beside its first entry. The sites of a chunk are fetched while those
// before it are processed, each once in a chunk or, with once, in the run. Before it waits for input it
// flushes the output. If ctx ends, it yields what has been read, and errInterrupted. If the output fails,
// it ends without an error. Up to the first chunk that needs a site, the goroutine that reads chunks yields
// them too, as passing them on would take a quarter of the CPU time.
func ReadAhead[T any](
	ctx context.Context, entries iter.Seq2[*Entry[T], error], ready func() bool, once bool, l *Live, std *screen.Streams,
) iter.Seq2[[]Entry[T], error] {
	return func(yield func([]Entry[T], error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		a := &readAhead[T]{
			live: l, std: std, once: once, budget: semaphore.NewWeighted(maxAhead), chunks: make(chan chunk[T], maxAhead),
			spare: make(chan []Entry[T], maxAhead), sites: map[robots.Origin]*Site{}, yield: yield,
		}
		std.Keep(std.Out.Flush())
		go a.read(ctx, entries, ready)
		for {
			c, ok := a.next(ctx)
			if !ok || !a.process(c, func() bool { return len(a.chunks) > 0 }) {
				return
			}
			a.budget.Release(c.units())
			select {
			case a.spare <- c.entries[:0]:
			default:
			}
		}
	}
}

// process yields a chunk and flushes the output unless another chunk is ready. It reports whether more are wanted.
func (a *readAhead[T]) process(c chunk[T], ready func() bool) bool {
	a.turn.Lock() // if ctx ends, two goroutines have a chunk
	defer a.turn.Unlock()
	if a.ended {
		return false
	}
	err := c.err
	if errors.Is(err, io.EOF) {
		err = nil
	}
	a.ended = true
	if !a.yield(c.entries, err) || c.err != nil {
		return false
	}
	clear(c.entries) // which can be large texts
	_, err = a.std.Out.Write(nil)
	a.std.Keep(err)
	if !ready() {
		a.std.Keep(a.std.Out.Flush())
	}
	a.ended = a.std.Failed != nil
	return !a.ended
}

// read reads all entries in chunks. It processes those before the first that needs a site, passes the others on, and starts the
// fetches of each of these after that.
func (a *readAhead[T]) read(ctx context.Context, entries iter.Seq2[*Entry[T], error], ready func() bool) {
	var c chunk[T]
	for e, err := range entries {
		c.err = err
		if err == nil {
			e.Site = a.site(e.Origin)
			c.entries = append(c.entries, *e)
			c.bytes += e.Bytes
			if len(c.entries) < ChunkLines && ready() {
				continue
			}
		}
		a.fetching = a.fetching || len(a.fresh) > 0
		if !a.fetching {
			if !a.process(c, ready) {
				close(a.chunks)
				return
			}
			c = chunk[T]{entries: c.entries[:0]}
			continue
		}
		if a.budget.Acquire(ctx, c.units()) != nil {
			return
		}
		n := len(c.entries)
		a.chunks <- c
		for _, s := range a.fresh {
			a.live.Start(ctx, s)
		}
		a.fresh = nil
		c = chunk[T]{}
		select {
		case c.entries = <-a.spare:
		default:
			c.entries = make([]Entry[T], 0, n)
		}
		if !a.once {
			clear(a.sites)
		}
	}
}

// site returns the site with an origin, a fresh one if it is not known; nil for the zero origin.
func (a *readAhead[T]) site(origin robots.Origin) *Site {
	if origin.IsZero() {
		return nil
	}
	s := a.sites[origin]
	if s == nil {
		s = NewSite(origin)
		a.sites[origin] = s
		a.fresh = append(a.fresh, s)
	}
	return s
}

// next waits for the next chunk, false if there is none. If ctx ends before, it is one that has been read, or the error alone.
func (a *readAhead[T]) next(ctx context.Context) (c chunk[T], ok bool) {
	select {
	case c, ok = <-a.chunks:
		return c, ok
	case <-ctx.Done():
		if len(a.chunks) > 0 {
			return <-a.chunks, true
		}
	}
	return chunk[T]{err: screen.ErrInterrupted}, true
}
