package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/cmd/internal/lines"
	"golang.org/x/sync/semaphore"
)

// A batch is a pipeline: a reader splits standard input into jobs and starts to fetch from
// their sites, a goroutine answers each job, and a writer writes the answers in input order.
// Memory is bounded: for questions by the budget of the reader, which limits the jobs too, for
// answers by mostAhead, for files by maxConnections. cmd/internal/batch answers a line.
const (
	// budgetUnit is one unit of the budget in bytes. All units are a line of the greatest
	// length, maxFile.
	budgetUnit  = 1 << 20
	budgetUnits = maxFile / budgetUnit
	// mostAhead is how many bytes of answers are passed to the writer together. A job that
	// waits for the writer has twice as many at most.
	mostAhead = 256 << 10
)

// chunkBytes and chunkLines limit how many lines are passed on together: so many that passing
// them on costs little, so few that all workers are busy.
const (
	chunkBytes = 64 << 10
	chunkLines = 256
)

// A job is consecutive lines of a batch and their answers. Once they are written, its memory is
// used for other lines.
type job struct {
	requests []request
	bytes    int         // of the lines
	text     []byte      // memory for the lines
	free     []byte      // the rest of it
	answers  []byte      // memory for answers
	out      chan []byte // answers, some at a time, closed at the end
	cut      bool        // some lines are not answered, as the run was interrupted
}

// units is the part of the budget that a job takes.
func (j *job) units() int64 { return int64(min(1+j.bytes/budgetUnit, budgetUnits)) }

// A request is one line of a job.
type request struct {
	line   []byte
	err    error  // the line is too long
	header string // of a chunk: its number of rows, and the line is not a question
	batch.Question
	site *site // of a line whose robots.txt is fetched
}

// A batchRun is one run of check --batch.
type batchRun struct {
	*judgeFlags
	live     *live // nil with -f
	defaults batch.Defaults
	rows     bool      // columns with tabs between, not JSON
	headers  bool      // a line with the number of rows precedes each chunk
	left     int       // rows of the chunk at hand
	jobs     sync.Pool // of jobs whose memory is free
	order    chan *job // in input order
	budget   *semaphore.Weighted
	quit     chan struct{} // closed when the writer has ended
	failed   error         // of the reader, set before it closes order

	agentWarnings atomic.Int32
}

// runBatch answers every line of standard input with one line of standard output
// (docs/batch.md). It returns an error if the call is bad or standard input
// cannot be read to its end.
func runBatch(ctx context.Context, f *judgeFlags, headers bool) (int, error) {
	b := &batchRun{
		judgeFlags: f,
		headers:    headers,
		order:      make(chan *job, budgetUnits),
		budget:     semaphore.NewWeighted(budgetUnits),
		quit:       make(chan struct{}),
	}
	if err := b.open(ctx); err != nil {
		return exitBad, err
	}
	defer b.live.close()
	ctx, stop := interruptible(ctx)
	defer stop()
	defer close(b.quit)
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
	case b.dialect == ask.AllDialects:
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
		Bodies: batch.NewBodies(), Heard: b.warnAgent,
	}
	if !b.given("file") {
		b.live, err = newLive(b.command, &b.site, dialectsOf(list), b.maxBytes)
	} else {
		var named []textFile
		if named, b.live, err = b.named(ctx, &b.site, dialectsOf(list), b.maxBytes, b.file); err == nil {
			b.defaults.File = named[0].File
		}
	}
	if err != nil {
		return err
	}
	b.warnCrawlers(list, b.defaults.File)
	return nil
}

// read splits standard input into jobs.
func (b *batchRun) read(ctx context.Context) {
	defer close(b.order)
	r := lines.NewReader(b.std.in, maxFile)
	var err error
	for err == nil {
		j, reused := b.jobs.Get().(*job)
		if !reused {
			j = &job{text: make([]byte, 0, 2*chunkBytes)}
		}
		j.bytes, j.free, j.out = 0, j.text, make(chan []byte, 1)
		err = b.fill(ctx, r, j)
		if len(j.requests) > 0 {
			if b.budget.Acquire(ctx, j.units()) != nil {
				return
			}
			b.order <- j // has room for all units of the budget
			go b.answer(ctx, j)
		}
	}
	if b.failed = err; errors.Is(err, io.EOF) {
		b.failed = nil
		if b.left > 0 {
			b.failed = fmt.Errorf("standard input ended %s before the end of its chunk", count(b.left, "row"))
		}
	}
}

// fill reads at least one line into a job, and further lines that can be read without waiting.
// An error comes with the lines before it. If robots.txt is fetched, it reads the questions too
// and starts to fetch from each of their sites once, so that the sites of all jobs are fetched
// concurrently.
func (b *batchRun) fill(ctx context.Context, r *lines.Reader, j *job) error {
	sites := map[robots.Origin]*site{}
	for len(j.requests) == 0 || r.Ready() && j.bytes < chunkBytes && len(j.requests) < chunkLines {
		line, err := r.Next(j.free)
		if err != nil && !errors.Is(err, lines.ErrLong) {
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("cannot read standard input: %w", cause(err))
			}
			return err
		}
		q := request{line: line, err: err}
		j.bytes += len(line)
		j.free = line[len(line):]
		if b.headers && b.left == 0 {
			n, err := strconv.ParseUint(strings.TrimSuffix(string(line), "\r"), 10, 31)
			if err != nil {
				return fmt.Errorf("%s is not the number of rows of a chunk, which --chunk-header expects before it", strconv.Quote(clip(string(line))))
			}
			q.header, b.left = strconv.FormatUint(n, 10), int(n)
			j.requests = append(j.requests, q)
			continue
		}
		if b.headers {
			b.left--
		}
		if b.live != nil {
			b.readQuestion(&q)
			if origin, fetched := b.defaults.Site(&q.Question); fetched {
				if q.site = sites[origin]; q.site == nil {
					q.site = b.live.start(ctx, origin)
					sites[origin] = q.site
				}
			}
		}
		j.requests = append(j.requests, q)
	}
	return nil
}

// readQuestion reads the question in a line.
func (b *batchRun) readQuestion(q *request) {
	read, bad := batch.Read, batch.Bad
	if b.rows {
		read, bad = batch.ReadRow, batch.BadRow
	}
	if q.err != nil {
		q.Question = bad(batch.TooLarge, errors.New("the line is longer than 64 MiB"))
	} else {
		q.Question = read(q.line)
	}
}

// answer answers the lines of a job. It passes answers to the writer before it waits for a site.
func (b *batchRun) answer(ctx context.Context, j *job) {
	a := batch.NewAnswerer(&b.defaults)
	out := j.answers
	give := func() {
		if len(out) > 0 {
			select {
			case j.out <- out:
			case <-b.quit:
			}
			out = nil
		}
	}
	defer close(j.out)
	defer give()
	now := b.std.now()
	for i := range j.requests {
		q := &j.requests[i]
		switch {
		case q.header != "":
			out = append(out, q.header...)
		case q.site != nil:
			record, err := b.live.get(ctx, q.site, give)
			switch {
			case err == nil:
				b.live.hint(record)
				out = a.AppendRecord(out, &q.Question, record, now)
			case errors.Is(err, errInterrupted):
				j.cut = true
				return
			default:
				out = batch.AppendError(out, &q.Question, batch.Pending, err)
			}
		default:
			if b.live == nil {
				b.readQuestion(q)
			}
			out = a.Append(out, &q.Question)
		}
		if out = append(out, '\n'); len(out) >= mostAhead {
			give()
		}
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
			}
			if err != nil {
				return closedOutput(err)
			}
			if cap(out) > cap(j.answers) && cap(out) <= mostAhead {
				j.answers = out[:0]
			}
		}
		if j.cut {
			return exitBad, errInterrupted
		}
		b.budget.Release(j.units())
		clear(j.requests)
		j.requests = j.requests[:0]
		b.jobs.Put(j)
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

// closedOutput is the status of a batch whose output fails. A closed pipe is not an error; the last
// flush reports any other.
func closedOutput(err error) (int, error) {
	if errors.Is(err, syscall.EPIPE) {
		return exitAllowed, nil
	}
	return exitBad, nil
}
