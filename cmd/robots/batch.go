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

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// A batch runs through three stages: a reader cuts standard input into chunks of
// whole lines, as many answerers as processors answer chunks, the writer writes
// what is answered in the order of the input. Where sites are asked, one goroutine
// goes ahead of the answerers and starts on the sites of all chunks, so that those
// of many lines are fetched side by side. What is under way at a time is bounded in
// bytes: of questions by the budget of the reader, of answers by mostAhead, of
// files by maxConnections and the number of answerers.
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
	// mostAhead ends a piece of answers: of a chunk the writer has not come to there
	// are two at most, as a file of sitemaps makes every answer a large one.
	mostAhead = 256 << 10
)

// A chunk is some lines in succession and their answers.
type chunk struct {
	in    []byte
	lines []batchLine
	units int // of the budget

	once     sync.Once
	requests []request // the lines read, set by once
	bad      []error   // what is wrong with them

	out chan []byte // answers in pieces, closed at the end
	cut bool        // some lines are not answered, because somebody ended the run
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
	ctx, stop := interruptible(ctx)
	defer stop()
	b := &pipeline{
		defaults: defaults,
		order:    make(chan *chunk, budgetUnits),
		work:     make(chan *chunk, budgetUnits),
		ahead:    make(chan *chunk, budgetUnits),
		budget:   make(chan struct{}, budgetUnits),
		quit:     make(chan struct{}),
	}
	defer close(b.quit)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			a := answerer{defaults: defaults}
			for c := range b.work {
				a.now = std.now()
				b.answer(ctx, c, &a)
			}
		}()
	}
	go b.lookAhead(ctx)
	go b.read(ctx)
	return b.write(ctx)
}

// A pipeline is the stages of a batch and what is between them. The chunks are in
// the order of the input in every channel: the one that the writer waits for is
// always in hand.
type pipeline struct {
	defaults           *defaults
	order, work, ahead chan *chunk
	budget             chan struct{}
	quit               chan struct{} // closed when the writer has ended
	failed             error         // of the reader, set before it closes order
}

// read cuts standard input into chunks.
func (b *pipeline) read(ctx context.Context) {
	defer close(b.order)
	defer close(b.work)
	defer close(b.ahead)
	r := lineReader{r: bufio.NewReaderSize(b.defaults.std.in, 256<<10)}
	for {
		c, err := r.chunk()
		if c != nil {
			c.units = min(1+len(c.in)/budgetUnit, budgetUnits)
			for range c.units {
				select {
				case b.budget <- struct{}{}:
				case <-ctx.Done():
					return
				}
			}
			// None of these blocks for long: every chunk holds a place in the budget.
			b.order <- c
			b.ahead <- c
			b.work <- c
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				b.failed = fmt.Errorf("cannot read standard input: %w", cause(err))
			}
			return
		}
	}
}

// lookAhead reads the lines of chunks before it is their turn, so that the sites
// they need are asked.
func (b *pipeline) lookAhead(ctx context.Context) {
	for c := range b.ahead {
		if b.defaults.live != nil {
			c.read(ctx, b.defaults)
		}
	}
}

// read reads the lines of a chunk, once, and starts on the robots.txt that they
// need fetched: a site is asked once for all of them.
func (c *chunk) read(ctx context.Context, d *defaults) {
	c.once.Do(func() {
		c.requests, c.bad = make([]request, len(c.lines)), make([]error, len(c.lines))
		sites := map[robots.Origin]*site{}
		for i, l := range c.lines {
			q := &c.requests[i]
			if l.over {
				c.bad[i] = errors.New("the line is longer than 64 MiB")
				continue
			}
			if *q, c.bad[i] = readRequest(c.in[l.start:l.end]); c.bad[i] != nil || !d.fetches(q) || q.url == nil {
				continue
			}
			url, _ := decodeString(q.url)
			origin, _, err := parseLive(robots.RFC9309, url)
			if err != nil {
				continue // said by its answer
			}
			if q.site = sites[origin]; q.site == nil {
				q.site = newSite(origin)
				sites[origin] = q.site
				d.live.start(ctx, q.site, func(*fetch.Record) {})
			}
		}
	})
}

// answer answers the lines of a chunk. What is answered is handed over before
// anything is waited for.
func (b *pipeline) answer(ctx context.Context, c *chunk, a *answerer) {
	var out []byte
	defer func() {
		b.hand(c, out)
		c.in, c.requests = nil, nil
		close(c.out)
	}()
	c.read(ctx, b.defaults)
	for i := range c.requests {
		q := &c.requests[i]
		if q.site != nil {
			if out, c.cut = b.await(ctx, c, out, q.site.ready); c.cut {
				return
			}
		}
		if c.bad[i] != nil {
			out = appendError(out, q.id, c.bad[i])
		} else {
			var err error
			if out, err = a.append(ctx, out, q); err != nil {
				c.cut = true
				return
			}
		}
		out = append(out, '\n')
		if len(out) >= mostAhead {
			b.hand(c, out)
			out = nil
		}
	}
}

// hand hands answers to the writer.
func (b *pipeline) hand(c *chunk, out []byte) {
	if len(out) == 0 {
		return
	}
	select {
	case c.out <- out:
	case <-b.quit:
	}
}

// await waits for a site, and hands over what is answered meanwhile. It returns
// what is not handed over, and whether ctx has ended first.
func (b *pipeline) await(ctx context.Context, c *chunk, out []byte, ready <-chan struct{}) ([]byte, bool) {
	select {
	case <-ready:
		return out, false
	default:
	}
	for {
		to := c.out
		if len(out) == 0 {
			to = nil
		}
		select {
		case to <- out:
			out = nil
		case <-ready:
			return out, false
		case <-ctx.Done():
			return out, true
		}
	}
}

// write writes the answers in the order of the input, and flushes them when there
// is nothing to write.
func (b *pipeline) write(ctx context.Context) (int, error) {
	to := b.defaults.std.out
	for {
		var c *chunk
		var more bool
		select {
		case c, more = <-b.order:
		default:
			// Nothing is waiting, so the reader may be too: the input pauses.
			if err := to.Flush(); err != nil {
				return closedOutput(err)
			}
			select {
			case c, more = <-b.order:
			case <-ctx.Done():
				return exitBad, errInterrupted
			}
		}
		if !more {
			break
		}
		if err := b.writeChunk(c); err != nil {
			return closedOutput(err)
		}
		if c.cut {
			return exitBad, errInterrupted
		}
		for range c.units {
			<-b.budget
		}
	}
	switch {
	case b.failed != nil:
		return exitBad, b.failed
	case ctx.Err() != nil:
		return exitBad, errInterrupted
	}
	return exitAllowed, nil
}

// writeChunk writes the answers of a chunk.
func (b *pipeline) writeChunk(c *chunk) error {
	for {
		var out []byte
		more := true
		select {
		case out, more = <-c.out:
		default:
			if b.defaults.live != nil {
				// Fetches may take long, and what is answered is wanted meanwhile.
				if err := b.defaults.std.out.Flush(); err != nil {
					return err
				}
			}
			out, more = <-c.out
		}
		if !more {
			return nil
		}
		if _, err := b.defaults.std.out.Write(out); err != nil {
			return err
		}
	}
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

// lineReader reads chunks of whole lines.
type lineReader struct {
	r    *bufio.Reader
	past bool // the first line has been read
}

// chunk reads at least one line and then those that are there without waiting.
// With an error it returns the lines before it, if any; a line that was cut by
// an error other than the end of input is none.
func (r *lineReader) chunk() (*chunk, error) {
	c := &chunk{out: make(chan []byte, 1)}
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
	d := &defaults{std: std, tokens: o.agents, agent: []byte(`"*"`), userInitiated: o.userInitiated}
	switch {
	case len(o.agents) == 1:
		d.agent = robots.AppendQuoted(nil, o.agents[0])
	case len(o.agents) > 1:
		d.agent = appendStrings(nil, o.agents)
	}
	var err error
	if d.settings, err = o.settings(std); err != nil {
		return nil, err
	}
	if d.dialect, err = dialectByName(o.dialect); err != nil {
		return nil, err
	}
	if err := checkAgents(o.agents, d.dialect); err != nil {
		return nil, err
	}
	if !o.file.given {
		d.live, err = newLive(std, "robots check", &o.live, d.maxBytes, d.dialect)
		return d, err
	}
	if err := o.live.unused(); err != nil {
		return nil, err
	}
	if d.file, err = readFile(std, "robots check", o.file, d.dialect, d.maxBytes); err != nil {
		return nil, err
	}
	return d, nil
}

// defaults are what a line of a batch may leave out.
type defaults struct {
	std  *streams
	told toldAgents
	file *robots.File // of -f, or
	live *live
	settings
	dialect       robots.Dialect
	tokens        []string
	agent         []byte // the flags as JSON, "*" without any
	userInitiated bool
}
