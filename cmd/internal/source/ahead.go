package source

import (
	"context"
	"errors"
	"io"
	"iter"

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
	Site   *Site         // of the origin, set by readAhead
}

// A chunk is consecutive entries, and the error after the last one.
type chunk[T any] struct {
	entries []Entry[T]
	bytes   int
	err     error
}

// units is the part of maxAhead that a chunk takes.
func (c *chunk[T]) units() int64 { return int64(min(1+c.bytes/chunkBytes, maxAhead)) }

// ReadAhead reads entries up to an error, which is io.EOF at the end of the input, and yields them in
// chunks, the last with any other error. A chunk ends before an entry that is not ready, which means
// buffered, so that it has few bytes beside its first entry. The sites of a chunk are fetched while those
// before it are processed, each once in a chunk or, with once, in the run. Before it waits for input it
// flushes the output. If ctx ends, it yields what has been read, and errInterrupted. If the output fails,
// it ends without an error.
func ReadAhead[T any](ctx context.Context, entries iter.Seq2[Entry[T], error], ready func() bool, once bool, l *Live, std *screen.Streams) iter.Seq2[[]Entry[T], error] {
	return func(yield func([]Entry[T], error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		budget := semaphore.NewWeighted(maxAhead)
		chunks := make(chan chunk[T], maxAhead)
		go func() {
			var c chunk[T]
			var fresh []*Site
			sites := map[robots.Origin]*Site{}
			for e, err := range entries {
				if c.err = err; err == nil {
					if !e.Origin.IsZero() {
						if e.Site = sites[e.Origin]; e.Site == nil {
							e.Site = NewSite(e.Origin)
							sites[e.Origin] = e.Site
							fresh = append(fresh, e.Site)
						}
					}
					c.entries = append(c.entries, e)
					if c.bytes += e.Bytes; len(c.entries) < ChunkLines && ready() {
						continue
					}
				}
				if budget.Acquire(ctx, c.units()) != nil {
					return
				}
				chunks <- c // has room for all units
				for _, s := range fresh {
					l.Start(ctx, s)
				}
				if c, fresh = (chunk[T]{entries: make([]Entry[T], 0, len(c.entries))}), nil; !once {
					clear(sites)
				}
			}
		}()
		for {
			_, err := std.Out.Write(nil)
			if std.Keep(err); len(chunks) == 0 {
				std.Keep(std.Out.Flush())
			}
			if std.Failed != nil {
				return
			}
			c := chunk[T]{err: screen.ErrInterrupted}
			select {
			case c = <-chunks:
			case <-ctx.Done():
				if len(chunks) > 0 {
					c = <-chunks
				}
			}
			if err = c.err; errors.Is(err, io.EOF) {
				err = nil
			}
			if !yield(c.entries, err) || c.err != nil {
				return
			}
			budget.Release(c.units())
		}
	}
}
