package main

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
	// chunkLines limits how many lines are passed on together, so that passing them on costs little.
	chunkLines = 256
	// maxAhead limits how many chunks are read ahead, so that a slow site delays few fetches. Each
	// chunkBytes of a chunk count as one, so it limits memory too.
	maxAhead   = 64
	chunkBytes = 64 << 10
)

// An entry is a line of a list or a batch that is read ahead.
type entry[T any] struct {
	line   T
	err    error         // why it has none
	bytes  int           // of its text
	origin robots.Origin // whose robots.txt it needs, zero if none is fetched
	site   *site         // of the origin, set by readAhead
}

// A chunk is consecutive entries, and the error after the last one.
type chunk[T any] struct {
	entries []entry[T]
	bytes   int
	err     error
}

// units is the part of maxAhead that a chunk takes.
func (c *chunk[T]) units() int64 { return int64(min(1+c.bytes/chunkBytes, maxAhead)) }

// readAhead reads entries up to an error, which is io.EOF at the end of the input, and yields them in
// chunks, the last with any other error. A chunk ends before an entry that is not ready, which means
// buffered, so that it has few bytes beside its first entry. The sites of a chunk are fetched while those
// before it are processed, each once in a chunk or, with once, in the run. Before it waits for input it
// flushes the output. If ctx ends, it yields what has been read, and errInterrupted. If the output fails,
// it ends without an error.
func readAhead[T any](ctx context.Context, entries iter.Seq2[entry[T], error], ready func() bool, once bool, l *live, std *screen.Streams) iter.Seq2[[]entry[T], error] {
	return func(yield func([]entry[T], error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		budget := semaphore.NewWeighted(maxAhead)
		chunks := make(chan chunk[T], maxAhead)
		go func() {
			var c chunk[T]
			var fresh []*site
			sites := map[robots.Origin]*site{}
			for e, err := range entries {
				if c.err = err; err == nil {
					if !e.origin.IsZero() {
						if e.site = sites[e.origin]; e.site == nil {
							e.site = newSite(e.origin)
							sites[e.origin] = e.site
							fresh = append(fresh, e.site)
						}
					}
					c.entries = append(c.entries, e)
					if c.bytes += e.bytes; len(c.entries) < chunkLines && ready() {
						continue
					}
				}
				if budget.Acquire(ctx, c.units()) != nil {
					return
				}
				chunks <- c // has room for all units
				for _, s := range fresh {
					l.start(ctx, s)
				}
				if c, fresh = (chunk[T]{entries: make([]entry[T], 0, len(c.entries))}), nil; !once {
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
