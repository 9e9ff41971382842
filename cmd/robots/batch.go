package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/robotskit/robots"
)

// A batch runs through three stages: a reader cuts standard input into chunks
// of whole lines, workers answer chunks, the writer writes what is answered in
// the order of the input. What is under way at a time is bounded in octets: of
// questions by the budget of the reader, of answers by mostAhead, of files by
// there being no more workers at work than processors (see live for the rest).
const (
	// maxLine is the longest line that is answered, without its line end.
	maxLine = maxFile
	// chunkBytes and chunkLines end a chunk: large enough that passing it on
	// costs little beside answering it, small enough to keep all workers busy.
	chunkBytes = 64 << 10
	chunkLines = 256
	// budgetUnit is what one place in the budget stands for, and budgetUnits is
	// how many there are: together one line of the greatest length.
	budgetUnit  = 1 << 20
	budgetUnits = maxLine / budgetUnit
	// mostAhead is how many octets of answers a chunk may have ready before the
	// writer comes to it; a file of sitemaps makes every answer a large one.
	mostAhead = 256 << 10
)

// A chunk is some lines in succession and their answers.
type chunk struct {
	in    []byte
	lines []batchLine
	units int // of the budget

	mu    sync.Mutex
	out   []byte        // answers that the writer has not taken yet
	ended bool          // there will be no more
	cut   bool          // some lines are not answered, because somebody ended the run
	grown chan struct{} // has an element after out has grown or the chunk ended
	taken chan struct{} // has an element after out was taken
}

// hand hands answers to the writer and returns room for more.
func (c *chunk) hand(out []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.out) == 0 {
		c.out, out = out, nil
	} else {
		c.out, out = append(c.out, out...), out[:0]
	}
	leaveOne(c.grown)
	return out
}

// end hands over the last answers.
func (c *chunk) end(out []byte, cut bool) {
	c.hand(out)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.cut = true, cut
	leaveOne(c.grown)
}

// take takes the answers that are there; with the last of them ended is true.
func (c *chunk) take() (out []byte, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, c.out = c.out, nil
	leaveOne(c.taken)
	return out, c.ended
}

// waiting reports whether there are answers that the writer has not taken.
func (c *chunk) waiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.out) > 0
}

// leaveOne leaves an element in a channel that has room for one.
func leaveOne(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// batchLine is where a line stands in its chunk, without its line end. A line
// over maxLine is not kept.
type batchLine struct {
	start, end int
	over       bool
}

// batch answers every line of standard input with one line of standard output
// (docs/batch.md). It returns an error if the call is bad or standard input
// cannot be read to its end.
func batch(ctx context.Context, o *options, std *streams) (int, error) {
	defaults, err := newDefaults(o, std)
	if err != nil {
		return exitBad, err
	}
	defer defaults.live.close()
	warnAgents(std, "robots check", o.agents, defaults.dialect)
	if defaults.live != nil {
		defer spare(0)()
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	var (
		work   = make(chan *chunk, budgetUnits)
		order  = make(chan *chunk, budgetUnits)
		budget = make(chan struct{}, budgetUnits)
		desks  = make(chan struct{}, runtime.GOMAXPROCS(0))
		failed error // of the reader; set before it closes order
	)
	workers := cap(desks)
	if defaults.live != nil {
		workers += maxConnections // who wait more than they work
	}
	for range workers {
		go func() {
			a := answerer{defaults: defaults, desks: desks}
			for c := range work {
				a.now, a.sites = std.now(), map[robots.Origin]*site{}
				c.answer(ctx, &a)
			}
		}()
	}
	go func() {
		defer close(order)
		defer close(work)
		r := lineReader{r: bufio.NewReaderSize(std.in, 256<<10)}
		for {
			c, err := r.chunk()
			if c != nil {
				c.units = 1 + len(c.in)/budgetUnit
				for range min(c.units, budgetUnits) {
					select {
					case budget <- struct{}{}:
					case <-ctx.Done():
						return
					}
				}
				// Never blocks: every chunk holds a place in the budget.
				order <- c
				work <- c
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					failed = fmt.Errorf("cannot read standard input: %w", cause(err))
				}
				return
			}
		}
	}()
	for {
		var c *chunk
		var more bool
		select {
		case c, more = <-order:
		default:
			// Nothing is waiting, so the reader may be too: the input pauses.
			if err := std.out.Flush(); err != nil {
				return closedOutput(err)
			}
			select {
			case c, more = <-order:
			case <-ctx.Done():
				return exitBad, errInterrupted
			}
		}
		if !more {
			break
		}
		for ended := false; !ended; {
			var out []byte
			if out, ended = c.take(); len(out) > 0 {
				if _, err := std.out.Write(out); err != nil {
					return closedOutput(err)
				}
				continue
			} else if ended {
				break
			}
			if defaults.live != nil {
				// Fetches may take long, and what is answered is wanted meanwhile.
				if err := std.out.Flush(); err != nil {
					return closedOutput(err)
				}
			}
			<-c.grown
		}
		if c.cut {
			return exitBad, errInterrupted
		}
		for range min(c.units, budgetUnits) {
			<-budget
		}
	}
	switch {
	case failed != nil:
		return exitBad, failed
	case ctx.Err() != nil:
		return exitBad, errInterrupted
	}
	return exitAllowed, nil
}

// closedOutput is the status of a batch whose answers nobody takes: quiet for a
// reader who has gone away. The error of anything else is found again by the
// last flush, which says it.
func closedOutput(err error) (int, error) {
	if errors.Is(err, syscall.EPIPE) {
		return exitAllowed, nil
	}
	return exitBad, nil
}

// answer answers the lines of a chunk. All are read first, so that the files
// they need are fetched side by side; what is answered is handed over before
// anything is waited for.
func (c *chunk) answer(ctx context.Context, a *answerer) {
	a.sit()
	var out []byte
	cut := false
	defer func() {
		a.rise()
		a.leave()
		c.in = nil
		c.end(out, cut)
	}()
	requests, bad := make([]request, len(c.lines)), make([]error, len(c.lines))
	for i, l := range c.lines {
		if l.over {
			bad[i] = errors.New("the line is longer than 64 MiB")
		} else {
			requests[i], bad[i] = a.read(ctx, c.in[l.start:l.end])
		}
	}
	for i := range requests {
		q := &requests[i]
		if q.site != nil {
			if ready := a.ready(ctx, q.site.origin); ready != nil {
				out = c.hand(out)
				if cut = !a.await(ctx, ready); cut {
					return
				}
			}
		}
		if bad[i] != nil {
			out = appendError(out, q.id, bad[i])
		} else {
			var err error
			if out, err = a.append(ctx, out, q); err != nil {
				cut = true
				return
			}
		}
		out = append(out, '\n')
		if len(out) >= mostAhead {
			out = c.hand(out)
			for c.waiting() {
				if cut = !a.await(ctx, c.taken); cut {
					return
				}
			}
		}
	}
}

// lineReader reads chunks of whole lines.
type lineReader struct {
	r    *bufio.Reader
	past bool // the first line has been read
}

// chunk reads at least one line and then those that are there without waiting.
// With an error it returns the lines before it, if any; a line that was cut by
// an error other than the end of input is none.
func (r *lineReader) chunk() (*chunk, error) {
	c := &chunk{grown: make(chan struct{}, 1), taken: make(chan struct{}, 1)}
	for len(c.in) < chunkBytes && len(c.lines) < chunkLines {
		if len(c.lines) > 0 && !r.waiting() {
			break
		}
		if err := r.line(c); err != nil {
			if len(c.lines) == 0 {
				return nil, err
			}
			return c, err
		}
	}
	return c, nil
}

// waiting reports whether a whole line has been read ahead.
func (r *lineReader) waiting() bool {
	ahead, _ := r.r.Peek(r.r.Buffered())
	return bytes.IndexByte(ahead, '\n') >= 0
}

// line reads a line into c. A last line without a line end is a line; its end
// of input is reported by the next call.
func (r *lineReader) line(c *chunk) error {
	start, length := len(c.in), 0
	for {
		part, err := r.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !(errors.Is(err, io.EOF) && length+len(part) > 0) {
			c.in = c.in[:start]
			return err
		}
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		if length += len(part); length <= maxLine {
			c.in = append(c.in, part...)
		} else if len(c.in) > start {
			c.in = append([]byte(nil), c.in[:start]...) // lets go of the line's storage
		}
		if ended || err == io.EOF {
			break
		}
	}
	l := batchLine{start: start, end: len(c.in), over: length > maxLine}
	if !r.past {
		r.past = true
		// A byte order mark is what some shells put before a stream, and no
		// part of the first line.
		if bytes.HasPrefix(c.in, []byte("\uFEFF")) {
			l.start = len("\uFEFF")
		}
	}
	c.lines = append(c.lines, l)
	return nil
}

// newDefaults checks the flags of a batch: they stand for members that a line
// leaves out.
func newDefaults(o *options, std *streams) (*defaults, error) {
	if len(o.urls) > 0 && !(len(o.urls) == 1 && o.urls[0] == "-") {
		return nil, fmt.Errorf("unexpected argument %q: --batch reads its questions from standard input, as in robots check --batch < FILE", clip(o.urls[0]))
	}
	if o.dialect == allDialects {
		return nil, errors.New("--batch answers one dialect a line, not all")
	}
	if o.file.given && o.file.text == "-" {
		return nil, errors.New("--batch reads its questions from standard input, so -f cannot read it too")
	}
	if err := checkFormat(o.format); err != nil {
		return nil, err
	}
	if _, err := newPalette(o.colour, std.terminal); err != nil {
		return nil, err
	}
	d := &defaults{std: std, maxBytes: noLimit, tokens: o.agents, agent: []byte(`"*"`), userInitiated: o.userInitiated}
	switch {
	case len(o.agents) == 1:
		d.agent = robots.AppendQuoted(nil, o.agents[0])
	case len(o.agents) > 1:
		d.agent = appendStrings(nil, o.agents)
	}
	var err error
	if d.dialect, err = dialectByName(o.dialect); err != nil {
		return nil, err
	}
	if err := checkAgents(o.agents, d.dialect); err != nil {
		return nil, err
	}
	if o.maxBytes.given {
		if d.maxBytes, err = parseMaxBytes(o.maxBytes.text); err != nil {
			return nil, fmt.Errorf("--max-bytes %w", err)
		}
	}
	if o.at.given {
		if d.at, err = parseTime(o.at.text); err != nil {
			return nil, fmt.Errorf("--at %w", err)
		}
	}
	if !o.file.given {
		d.live, err = newLive(std, "robots check", &o.live, d.maxBytes, d.dialect)
		return d, err
	}
	if err := o.live.unused(); err != nil {
		return nil, err
	}
	if d.file, err = readFile(std, "robots check", o.file); err != nil {
		return nil, err
	}
	return d, nil
}

// defaults are what a line of a batch may leave out.
type defaults struct {
	std           *streams
	told          toldAgents
	file          *robots.File // of -f, or
	live          *live
	at            time.Time // zero: now
	dialect       robots.Dialect
	tokens        []string
	agent         []byte // the flags as JSON, "*" without any
	maxBytes      int
	userInitiated bool
}
