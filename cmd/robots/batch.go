package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/fetch"
)

// A batch is a pipeline: a reader splits standard input into chunks of lines and starts to
// fetch from their sites, one answerer per processor answers chunks, and a writer writes the
// answers in input order. Memory is bounded: for questions by the budget of the reader, for
// answers by mostAhead, for files by maxConnections and the number of answerers.
// cmd/internal/batch answers a line.
const (
	// budgetUnit is one unit of the budget in bytes. All units are a line of the greatest
	// length, maxFile.
	budgetUnit  = 1 << 20
	budgetUnits = maxFile / budgetUnit
	// mostAhead is how many bytes of answers are passed to the writer together. A job that
	// waits for the writer has twice as many at most.
	mostAhead = 256 << 10
)

// A job is a chunk of a batch and its answers.
type job struct {
	chunk
	units    int // of the budget
	requests []request
	out      chan []byte // answers, some at a time, closed at the end
	cut      bool        // some lines are not answered, as the run was interrupted
}

// A request is one line of a job.
type request struct {
	batch.Question
	site   *site  // of a line whose robots.txt is fetched
	header string // of a chunk: its number of rows, and the line is not a question
}

// A batchRun is one run of check --batch. Both channels have the jobs in input order, so the
// job that the writer waits for is always being answered.
type batchRun struct {
	*judgeFlags
	live        *live // nil with -f
	defaults    batch.Defaults
	warnings    agentWarnings
	rows        bool         // columns with tabs between, not JSON
	headers     bool         // a line with the number of rows precedes each chunk
	bodies      batch.Bodies // of rows
	left        int          // rows of the chunk at hand
	order, work chan *job
	jobs        chan *job   // written, for the next chunks
	buffers     chan []byte // written, for the next answers
	budget      chan struct{}
	quit        chan struct{} // closed when the writer has ended
	failed      error         // of the reader, set before it closes order
}

// runBatch answers every line of standard input with one line of standard output
// (docs/batch.md). It returns an error if the call is bad or standard input
// cannot be read to its end.
func runBatch(ctx context.Context, f *judgeFlags, headers bool) (int, error) {
	b := &batchRun{
		judgeFlags: f,
		headers:    headers,
		order:      make(chan *job, budgetUnits),
		work:       make(chan *job, budgetUnits),
		jobs:       make(chan *job, budgetUnits),
		buffers:    make(chan []byte, budgetUnits),
		budget:     make(chan struct{}, budgetUnits),
		quit:       make(chan struct{}),
	}
	if err := b.open(ctx); err != nil {
		return exitBad, err
	}
	defer b.live.close()
	ctx, stop := interruptible(ctx)
	defer stop()
	defer close(b.quit)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			a := answerer{Answerer: batch.NewAnswerer(&b.defaults)}
			a.Bodies = &b.bodies
			for j := range b.work {
				b.answer(ctx, j, &a)
			}
		}()
	}
	go b.read(ctx)
	return b.write(ctx)
}

// open checks the flags of a batch, which are defaults of members.
func (b *batchRun) open(ctx context.Context) error {
	switch {
	case len(b.args) > 0 && !(len(b.args) == 1 && b.args[0] == "-"):
		return fmt.Errorf("unexpected argument %q: --batch reads standard input, as in robots check --batch < FILE", clip(b.args[0]))
	case len(b.categories) > 0 || len(b.agents) > 1:
		return errors.New("--batch checks for one crawler per line: give one -a, and no --crawlers")
	case b.dialect == allDialects:
		return errors.New("--batch answers in one dialect per line, not in all")
	case b.file == "-":
		return errors.New("--batch reads standard input, so -f cannot read it too")
	case isURL(b.file):
		return errors.New("--batch fetches the robots.txt of each URL, or takes a file with -f: not that of another site")
	case b.urls != "":
		return errors.New("--batch reads standard input, not --urls")
	case b.given("format") && b.format == formatText:
		return errors.New("--batch answers in JSON, or in rows with --format tsv")
	}
	if b.rows = b.format == formatTSV; b.rows {
		b.format = formatJSON
	}
	if b.headers && !b.rows {
		return errors.New("--chunk-header requires --batch --format tsv")
	}
	auto := b.dialect == ask.AutoDialect && b.given("dialect")
	if b.dialect == ask.AutoDialect && !auto {
		b.dialect = robots.RFC9309.Name
	}
	list, _, err := b.crawlers()
	if err != nil {
		return err
	}
	b.defaults = batch.Defaults{
		Agents: list[0].Tokens, Dialect: list[0].Dialect, Auto: auto, MaxBytes: b.maxBytes, At: b.at, UserInitiated: b.userInitiated,
		Heard: func(token string, d robots.Dialect) { b.warnings.warn(b.command, token, d) },
	}
	if !b.given("file") {
		b.live, err = newLive(b.command, &b.site, dialectsOf(list), b.maxBytes)
	} else {
		var named []ask.Source
		if named, b.live, err = b.named(ctx, &b.site, list, b.maxBytes, b.file); err == nil {
			b.defaults.File = named[0].File
		}
	}
	if err != nil {
		return err
	}
	b.warnCrawlers(list, b.defaults.File)
	return nil
}

// read splits standard input into jobs. If robots.txt is fetched, it reads the lines itself, so
// that the sites of all jobs are fetched concurrently.
func (b *batchRun) read(ctx context.Context) {
	defer close(b.order)
	defer close(b.work)
	r := newLineReader(b.std.in, maxFile)
	for {
		j := take(b.jobs)
		if j == nil {
			j = new(job)
		}
		err := r.chunk(&j.chunk)
		if len(j.lines) > 0 {
			j.units, j.out = min(1+len(j.in)/budgetUnit, budgetUnits), make(chan []byte, 1)
			for range j.units {
				select {
				case b.budget <- struct{}{}:
				case <-ctx.Done():
					return
				}
			}
			if b.inOrder() {
				if bad := b.readRequests(ctx, j); bad != nil {
					err = bad
				}
			}
			// Neither blocks for long: every job has its part of the budget.
			b.order <- j
			b.work <- j
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				b.failed = fmt.Errorf("cannot read standard input: %w", cause(err))
			} else if b.left > 0 {
				b.failed = fmt.Errorf("standard input ends %d rows before its chunk does", b.left)
			}
			return
		}
	}
}

// inOrder reports whether the reader reads the lines, instead of the answerers.
func (b *batchRun) inOrder() bool { return b.live != nil || b.headers }

// readRequests reads the lines of a job, and starts to fetch from each of their sites once. An
// error is about the header of a chunk; the job keeps the lines before it.
func (b *batchRun) readRequests(ctx context.Context, j *job) error {
	j.requests = slices.Grow(j.requests[:0], len(j.lines))[:len(j.lines)]
	sites := map[robots.Origin]*site{}
	for i, l := range j.lines {
		q := &j.requests[i]
		if b.headers && b.left == 0 {
			n, err := strconv.ParseUint(strings.TrimSuffix(string(j.text(l)), "\r"), 10, 31)
			if err != nil {
				j.requests = j.requests[:i]
				return fmt.Errorf("%s is not the number of rows of a chunk, which --chunk-header expects before it", strconv.Quote(clip(string(j.text(l)))))
			}
			*q = request{header: strconv.FormatUint(n, 10)}
			b.left = int(n)
			continue
		}
		if b.headers {
			b.left--
		}
		read, bad := batch.Read, batch.Bad
		if b.rows {
			read, bad = batch.ReadRow, batch.BadRow
		}
		if l.over {
			*q = request{Question: bad(batch.TooLarge, errors.New("the line is longer than 64 MiB"))}
			continue
		}
		*q = request{Question: read(j.text(l))}
		origin, fetched := b.defaults.Site(&q.Question)
		if !fetched {
			continue
		}
		if q.site = sites[origin]; q.site == nil {
			q.site = b.live.start(ctx, origin)
			sites[origin] = q.site
		}
	}
	return nil
}

// answer answers the lines of a job. It passes answers to the writer before it waits for a site.
func (b *batchRun) answer(ctx context.Context, j *job, a *answerer) {
	var out []byte
	defer func() {
		b.give(j, &out)
		if !j.usual() {
			j.chunk, j.requests = chunk{}, nil
		}
		close(j.out)
	}()
	if !b.inOrder() {
		_ = b.readRequests(ctx, j) // errors are those of headers
	}
	now := b.std.now()
	for i := range j.requests {
		q := &j.requests[i]
		if q.site != nil && !q.site.await(ctx, func() { b.give(j, &out) }) {
			j.cut = true
			return
		}
		if out == nil {
			out = take(b.buffers)
		}
		if q.header != "" {
			out = append(out, q.header...)
		} else if q.site == nil {
			out = a.Append(out, &q.Question)
		} else if r, err := a.recordOf(ctx, b.live, q.site); err == nil {
			out = a.AppendRecord(out, &q.Question, r, now)
		} else if ctx.Err() != nil {
			j.cut = true
			return
		} else {
			out = batch.AppendError(out, &q.Question, batch.Pending, err)
		}
		if out = append(out, '\n'); len(out) >= mostAhead {
			b.give(j, &out)
		}
	}
}

// An answerer answers the lines of jobs. There is one per processor, which limits the files in
// memory.
type answerer struct {
	*batch.Answerer
	last   *site // of the record
	record *fetch.Record
}

// recordOf returns the record of a site that is ready.
func (a *answerer) recordOf(ctx context.Context, l *live, s *site) (*fetch.Record, error) {
	if s != a.last {
		a.last = nil
		from, err := l.get(ctx, s)
		if err != nil {
			return nil, err
		}
		a.last, a.record = s, from.Record
		l.hint(a.record)
	}
	return a.record, nil
}

// give passes answers to the writer, and leaves none in out.
func (b *batchRun) give(j *job, out *[]byte) {
	if len(*out) == 0 {
		return
	}
	select {
	case j.out <- *out:
	case <-b.quit:
	}
	*out = nil
}

// take receives from a channel if there is a value, else it returns the zero value.
func take[T any](from chan T) (v T) {
	select {
	case v = <-from:
	default:
	}
	return v
}

// put sends to a channel if there is room.
func put[T any](to chan T, v T) {
	select {
	case to <- v:
	default:
	}
}

// write writes the answers in input order, and flushes them when the input pauses.
func (b *batchRun) write(ctx context.Context) (int, error) {
	for {
		j, more, err := receive(ctx, b.order, b.std.out.Flush)
		switch {
		case err != nil:
			return closedOutput(err)
		case ctx.Err() != nil && !more:
			return exitBad, errInterrupted
		case !more && b.failed != nil:
			return exitBad, b.failed
		case !more:
			return exitAllowed, nil
		}
		// A job can wait for a site; its earlier answers are written meanwhile.
		for more := true; more; {
			var out []byte
			if out, more, err = receive(context.Background(), j.out, b.std.out.Flush); err == nil {
				_, err = b.std.out.Write(out)
				if more && cap(out) <= 2*mostAhead {
					put(b.buffers, out[:0])
				}
			}
			if err != nil {
				return closedOutput(err)
			}
		}
		if j.cut {
			return exitBad, errInterrupted
		}
		for range j.units {
			<-b.budget
		}
		put(b.jobs, j)
	}
}

// receive receives from a channel. Before it waits it calls pause. When ctx ends, an empty
// channel counts as closed.
func receive[T any](ctx context.Context, from <-chan T, pause func() error) (v T, more bool, err error) {
	select {
	case v, more = <-from:
		return v, more, nil
	default:
	}
	if err := pause(); err != nil {
		return v, false, err
	}
	select {
	case v, more = <-from:
	case <-ctx.Done():
	}
	return v, more, nil
}

// closedOutput is the status of a batch whose output fails. A closed pipe is no error; the last
// flush reports any other.
func closedOutput(err error) (int, error) {
	if errors.Is(err, syscall.EPIPE) {
		return exitAllowed, nil
	}
	return exitBad, nil
}
