package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
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

// runBatch answers every line of standard input with one line of standard output (docs/batch.md); package batch reads and answers a
// line. It returns an error if the flags are invalid or standard input cannot be read to its end.
func (o *checkOptions) runBatch(ctx context.Context) (int, error) {
	if err := o.checkBatch(); err != nil {
		return exitBad, err
	}
	defaults, live, err := o.batchDefaults(ctx)
	if err != nil {
		return exitBad, err
	}
	defer live.Close()
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	in := &batchReader{
		lines:    lines.NewReader(o.std.In, source.MaxFile),
		defaults: defaults,
		live:     live,
		rows:     o.output.format == formatTSV,
		headers:  o.chunkHeader,
	}
	answerer := batch.NewAnswerer(defaults)
	for entries, err := range source.ReadAhead(ctx, in.entries(), in.lines.Ready, false, live, o.std) {
		now := o.std.Now()
		for i := range entries {
			if err := o.answerLine(ctx, answerer, live, &entries[i], now); err != nil {
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

// answerLine writes the answer to a line. Its only error is screen.ErrInterrupted.
func (o *checkOptions) answerLine(
	ctx context.Context, a *batch.Answerer, live *source.Live, e *source.Entry[batchLine], now time.Time,
) error {
	var record *fetch.Record
	var failed error
	if e.Site != nil {
		record, failed = live.Get(ctx, e.Site)
		if errors.Is(failed, screen.ErrInterrupted) {
			return failed
		}
	}
	dst := o.std.Out.AvailableBuffer()
	question := &e.Line.Question
	switch {
	case e.Line.header != "":
		dst = append(dst, e.Line.header...)
	case failed != nil:
		dst = batch.AppendError(dst, question, batch.Pending, failed)
	case record != nil:
		live.Hint(record)
		dst = a.AppendRecord(dst, question, record, now)
	default:
		dst = a.Append(dst, question)
	}
	_, _ = o.std.Out.Write(append(dst, '\n')) // the last flush reports its error
	return nil
}

// checkBatch checks the arguments and flags of a batch.
func (o *checkOptions) checkBatch() error {
	f := &o.urls
	switch {
	case len(o.args) > 0 && !(len(o.args) == 1 && o.args[0] == "-"):
		return fmt.Errorf("unexpected argument %q: --batch reads standard input, as in robots check --batch < FILE", clip(o.args[0]))
	case len(f.crawlers.purposes) > 0 || len(f.crawlers.agents) > 1:
		return errors.New("--batch checks for one crawler per line: give one -a, and no --purpose")
	case f.crawlers.dialect == ask.AllDialects:
		return errors.New("--batch answers in one dialect per line, not in all")
	case f.file == "-":
		return errors.New("--batch reads standard input, so -f cannot read it too")
	case ask.NamesSite(f.file):
		return errors.New("--batch fetches the robots.txt of each URL, or takes a file with -f: not that of another site")
	case f.urls != "":
		return errors.New("--batch reads standard input, not --urls")
	case f.set.Changed("format") && o.output.format == formatText:
		return errors.New("--batch answers in JSON, or in rows with --format tsv")
	case o.chunkHeader && o.output.format != formatTSV:
		return errors.New("--chunk-header requires --batch --format tsv")
	}
	return nil
}

// batchDefaults returns what lines leave out, and the client that fetches without -f, which the caller closes.
func (o *checkOptions) batchDefaults(ctx context.Context) (*batch.Defaults, *source.Live, error) {
	f := &o.urls
	if !f.set.Changed("dialect") {
		f.crawlers.dialect = robots.RFC9309.Name
	}
	chosen, err := f.crawlers.choose()
	if err != nil {
		return nil, nil, err
	}
	from, live, err := f.openRobots(ctx, o.output.reader(o.std), &chosen)
	one := &chosen.list[0]
	return &batch.Defaults{
		Agents:        one.Tokens,
		Dialect:       one.Dialect,
		Auto:          f.crawlers.dialect == ask.AutoDialect,
		MaxBytes:      f.rules.maxBytes,
		At:            f.rules.at,
		File:          from.File,
		UserInitiated: f.rules.userInitiated,
		OnAgent:       warnAgents(o.std),
	}, live, err
}

// A batchReader reads the lines of a batch.
type batchReader struct {
	lines    *lines.Reader
	defaults *batch.Defaults
	live     *source.Live // nil with -f
	rows     bool         // columns with tabs between, not JSON
	headers  bool         // a line with the number of rows precedes each chunk of them
	left     int          // rows of the current chunk that have not been read
	memory   []byte       // of lines
}

// entries reads the lines.
func (b *batchReader) entries() iter.Seq2[*source.Entry[batchLine], error] {
	return func(yield func(*source.Entry[batchLine], error) bool) {
		var e source.Entry[batchLine]
		for {
			e = source.Entry[batchLine]{}
			if err := b.next(&e); !yield(&e, err) || err != nil {
				return
			}
		}
	}
}

// next reads a line.
func (b *batchReader) next(e *source.Entry[batchLine]) error {
	line, err := b.lines.Next()
	long := errors.Is(err, lines.ErrLong)
	switch {
	case errors.Is(err, io.EOF) && b.left > 0:
		return fmt.Errorf("standard input ended %s before the end of its chunk", render.Count(b.left, "row"))
	case errors.Is(err, io.EOF):
		return err
	case err != nil && !long:
		return fmt.Errorf("cannot read standard input: %w", screen.Cause(err))
	case b.headers && b.left == 0:
		n, err := strconv.ParseUint(strings.TrimSuffix(string(line), "\r"), 10, 31)
		if err != nil {
			value := strconv.Quote(clip(string(line)))
			return fmt.Errorf("%s is not the number of rows of a chunk, which --chunk-header expects before it", value)
		}
		e.Line.header = strconv.FormatUint(n, 10)
		b.left = int(n)
		return nil
	case b.headers:
		b.left--
	}
	e.Bytes = len(line)
	line = b.keep(line)
	switch {
	case long:
		e.Line.Question = batch.Bad(b.rows, batch.TooLarge, errors.New("the line is longer than 64 MiB"))
	case b.rows:
		e.Line.Question = batch.ReadRow(line)
	default:
		e.Line.Question = batch.Read(line)
	}
	if b.live != nil {
		var url string
		e.Origin, url = b.defaults.Site(&e.Line.Question)
		b.live.AddCredentials(e.Origin, url)
	}
	return nil
}

// keep copies a line, with others into one piece of memory, as an allocation for each takes longer.
func (b *batchReader) keep(line []byte) []byte {
	if cap(b.memory)-len(b.memory) < len(line) {
		b.memory = make([]byte, 0, max(64<<10, len(line)))
	}
	start := len(b.memory)
	b.memory = append(b.memory, line...)
	return b.memory[start:len(b.memory):len(b.memory)]
}
