package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/cmd/internal/lines"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
)

// A batchLine is a line of a batch.
type batchLine struct {
	batch.Question
	header string // of a chunk of rows: their number, and the line is not a question
}

// A batchRun is one run of check --batch. Package batch reads and answers a line.
type batchRun struct {
	*judgeFlags
	live     *source.Live // nil with -f
	defaults batch.Defaults
	rows     bool // columns with tabs between, not JSON
	headers  bool // a line with the number of rows precedes each chunk of them
	left     int  // rows of the chunk at hand
}

// runBatch answers every line of standard input with one line of standard output
// (docs/batch.md). It returns an error if the call is bad or standard input
// cannot be read to its end.
func runBatch(ctx context.Context, f *judgeFlags, headers bool) (int, error) {
	b := &batchRun{judgeFlags: f, headers: headers}
	if err := b.open(ctx); err != nil {
		return exitBad, err
	}
	defer b.live.Close()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // little memory is in use
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	a := batch.NewAnswerer(&b.defaults)
	in := lines.NewReader(b.std.In, source.MaxFile)
	for entries, err := range source.ReadAhead(ctx, b.read(in), in.Ready, false, b.live, b.std) {
		now := b.std.Now()
		for i := range entries {
			if err := b.answer(ctx, a, &entries[i], now); err != nil {
				return exitBad, err
			}
		}
		if err != nil {
			return exitBad, err
		}
	}
	if ctx.Err() != nil { // the end of the input is that of a program that was interrupted too
		return exitBad, screen.ErrInterrupted
	}
	return exitAllowed, nil // the last flush reports why the output failed
}

// answer writes the answer to a line. Its only error is errInterrupted.
func (b *batchRun) answer(ctx context.Context, a *batch.Answerer, e *source.Entry[batchLine], now time.Time) error {
	var record *fetch.Record
	var failed error
	if e.Site != nil {
		if record, failed = b.live.Get(ctx, e.Site); errors.Is(failed, screen.ErrInterrupted) {
			return failed
		}
	}
	dst, q := b.std.Out.AvailableBuffer(), &e.Line.Question
	switch {
	case e.Line.header != "":
		dst = append(dst, e.Line.header...)
	case failed != nil:
		dst = batch.AppendError(dst, q, batch.Pending, failed)
	case record != nil:
		b.live.Hint(record)
		dst = a.AppendRecord(dst, q, record, now)
	default:
		dst = a.Append(dst, q)
	}
	_, _ = b.std.Out.Write(append(dst, '\n')) // the last flush reports its error
	return nil
}

// open checks the flags of a batch, which are defaults of members.
func (b *batchRun) open(ctx context.Context) error {
	switch {
	case len(b.args) > 0 && !(len(b.args) == 1 && b.args[0] == "-"):
		return fmt.Errorf("unexpected argument %q: --batch reads standard input, as in robots check --batch < FILE", clip(b.args[0]))
	case len(b.purposes) > 0 || len(b.agents) > 1:
		return errors.New("--batch checks for one crawler per line: give one -a, and no --purpose")
	case b.dialect == ask.AllDialects:
		return errors.New("--batch answers in one dialect per line, not in all")
	case b.file == "-":
		return errors.New("--batch reads standard input, so -f cannot read it too")
	case ask.NamesSite(b.file):
		return errors.New("--batch fetches the robots.txt of each URL, or takes a file with -f: not that of another site")
	case b.urls != "":
		return errors.New("--batch reads standard input, not --urls")
	case b.given("format") && b.format == formatText:
		return errors.New("--batch answers in JSON, or in rows with --format tsv")
	case b.headers && b.format != formatTSV:
		return errors.New("--chunk-header requires --batch --format tsv")
	}
	b.rows = b.format == formatTSV
	if !b.given("dialect") {
		b.dialect = robots.RFC9309.Name
	}
	chosen, err := b.choose()
	if err != nil {
		return err
	}
	one := &chosen.list[0]
	b.defaults = batch.Defaults{
		Agents:        one.Tokens,
		Dialect:       one.Dialect,
		Auto:          b.dialect == ask.AutoDialect,
		MaxBytes:      b.maxBytes,
		At:            b.at,
		UserInitiated: b.userInitiated,
		Heard:         warnAgents(b.std),
	}
	from, l, err := b.source(ctx, &chosen)
	b.defaults.File, b.live = from.File, l
	return err
}

// read reads the lines.
func (b *batchRun) read(in *lines.Reader) iter.Seq2[source.Entry[batchLine], error] {
	return func(yield func(source.Entry[batchLine], error) bool) {
		for {
			if e, err := b.next(in); !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// next reads a line.
func (b *batchRun) next(in *lines.Reader) (e source.Entry[batchLine], err error) {
	line, err := in.Next(nil)
	long := errors.Is(err, lines.ErrLong)
	switch {
	case errors.Is(err, io.EOF) && b.left > 0:
		return e, fmt.Errorf("standard input ended %s before the end of its chunk", render.Count(b.left, "row"))
	case errors.Is(err, io.EOF):
		return e, err
	case err != nil && !long:
		return e, fmt.Errorf("cannot read standard input: %w", screen.Cause(err))
	case b.headers && b.left == 0:
		n, err := strconv.ParseUint(strings.TrimSuffix(string(line), "\r"), 10, 31)
		if err != nil {
			return e, fmt.Errorf("%s is not the number of rows of a chunk, which --chunk-header expects before it", strconv.Quote(clip(string(line))))
		}
		e.Line.header, b.left = strconv.FormatUint(n, 10), int(n)
		return e, nil
	case b.headers:
		b.left--
	}
	e.Bytes = len(line)
	switch {
	case long:
		e.Line.Question = batch.Bad(b.rows, batch.TooLarge, errors.New("the line is longer than 64 MiB"))
	case b.rows:
		e.Line.Question = batch.ReadRow(line)
	default:
		e.Line.Question = batch.Read(line)
	}
	if b.live != nil {
		e.Origin = b.defaults.Site(&e.Line.Question)
	}
	return e, nil
}
