package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// This file reads URLs: the arguments of a call, and in place of the argument - the
// lines of standard input, which are read while those before them are answered.
// Batch reads its lines with the same lineReader.

const (
	// chunkBytes and chunkLines end a chunk of lines: large enough that passing it on
	// costs little beside answering it, small enough to keep all workers busy.
	chunkBytes = 64 << 10
	chunkLines = 256
	// piecesAhead is how many pieces of a list are read before they are answered where
	// sites are asked: some thousand URLs, so that a slow site delays few fetches.
	piecesAhead = 64
)

// A page is one URL of a call, with its path as each dialect takes it. With -f it lies in
// the memory that the next lines are read into, so who is shown it keeps nothing of it:
// what would be garbage is as much as the list, and its collection took a sixth of the time.
type page struct {
	url     string
	shown   string // in text
	columns int    // of that
	paths   []robots.Path
	site    *site // nil with -f
}

// A piece is some URLs in succession.
type piece struct {
	pages []page
	bad   []error // lines that are no URLs
	width int     // of the column of URLs, so far
	last  bool    // no piece comes after it
	err   error   // why not every URL has been read
}

// A callURLs reads the URLs of a call.
type callURLs struct {
	call  *call
	take  func(context.Context, *piece) bool // takes a piece, and reports whether more is wanted
	pause func(context.Context) bool         // the same, before more input is waited for
	keeps bool                               // what was taken is still needed after that
	piece piece                              // being made
	paths []robots.Path                      // room for those of the next pages
	sites map[robots.Origin]*site
	mu    sync.Mutex // held while URLs that were read have not been sent on
}

// read reads the URLs, and starts on the sites that they need.
func (l *callURLs) read(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sites = map[robots.Origin]*site{}
	for _, arg := range l.call.args {
		if arg != "-" {
			_, n := shown(arg)
			l.widen(n)
		}
	}
	l.piece.err = l.readArgs(ctx)
	l.piece.last = true
	l.send(ctx)
}

func (l *callURLs) readArgs(ctx context.Context) error {
	for _, arg := range l.call.args {
		if arg == "-" {
			if err := l.readLines(ctx); err != nil {
				return err
			}
			continue
		}
		_ = l.add(ctx, arg) // checkArgs has found no error
		if len(l.piece.pages) == chunkLines && !l.send(ctx) {
			return ctx.Err()
		}
	}
	return nil
}

// readLines reads the lines of standard input. Blank lines are passed over.
func (l *callURLs) readLines(ctx context.Context) error {
	r := newLineReader(l.call.std.in, maxURL)
	number, found := 0, false
	var c chunk
	for {
		if !r.ready() && !l.pause(ctx) {
			return ctx.Err()
		}
		l.mu.Unlock()
		err := r.chunk(&c)
		l.mu.Lock()
		in := unsafe.String(unsafe.SliceData(c.in), len(c.in)) // until the next chunk
		if l.keeps {
			in = strings.Clone(in)
		}
		l.piece.pages = slices.Grow(l.piece.pages, len(c.lines))
		for _, line := range c.lines {
			number++
			text := in[line.start:line.end]
			if blank(text) && !line.over {
				continue
			}
			found = true
			wrong := errLongLine
			if !line.over {
				wrong = l.add(ctx, strings.TrimRight(text, "\r"))
			}
			if wrong != nil {
				l.piece.bad = append(l.piece.bad, fmt.Errorf("line %d of standard input: %w", number, wrong))
			}
		}
		switch {
		case errors.Is(err, io.EOF) && !found:
			l.piece = piece{}
			return errors.New("standard input holds no URL")
		case found && !l.send(ctx):
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("cannot read standard input: %w", cause(err))
		}
	}
}

// blank reports whether a line holds nothing but white space. Nearly none begins with it.
func blank(line string) bool {
	return (line == "" || line[0] <= ' ' || line[0] >= utf8.RuneSelf) && strings.TrimSpace(line) == ""
}

// add adds a URL to the piece.
func (l *callURLs) add(ctx context.Context, url string) error {
	n := len(l.call.dialects)
	if cap(l.paths)-len(l.paths) < n {
		l.paths = make([]robots.Path, 0, n*max(1, cap(l.piece.pages)-len(l.piece.pages)))
	}
	paths := l.paths[len(l.paths) : len(l.paths)+n : len(l.paths)+n]
	origin, err := l.call.split(url, paths)
	if err != nil {
		return err
	}
	l.paths = l.paths[:len(l.paths)+n]
	l.piece.pages = append(l.piece.pages, page{url: url, paths: paths})
	p := &l.piece.pages[len(l.piece.pages)-1]
	if l.call.live != nil {
		if p.site = l.sites[origin]; p.site == nil {
			p.site = l.call.live.start(ctx, origin)
			l.sites[origin] = p.site
		}
	}
	p.shown, p.columns = shown(url)
	l.widen(p.columns)
	return nil
}

// widen makes room for a URL in the column of URLs.
func (l *callURLs) widen(columns int) {
	l.piece.width = max(l.piece.width, min(columns, maxURLColumn))
}

// send sends the piece on, and reports whether more is wanted.
func (l *callURLs) send(ctx context.Context) bool {
	more := l.take(ctx, &l.piece)
	next := piece{width: l.piece.width}
	if !l.keeps {
		next.pages, l.paths = l.piece.pages[:0], l.paths[:0]
	}
	l.piece = next
	return more
}

// checkArgs finds what is wrong with the arguments of a call, in which case nothing
// is answered. A bad line of a list is none of that: of thousands of lines from
// elsewhere one may be anything.
func (c *call) checkArgs() error {
	if len(c.args) == 0 {
		return errors.New("no URL given: name at least one, or - to read them from standard input")
	}
	read := c.fileName == "-"
	room := make([]robots.Path, len(c.dialects))
	for _, arg := range c.args {
		if arg == "-" {
			if read {
				return errors.New("standard input can be read only once")
			}
			read = true
			continue
		}
		if _, err := c.split(arg, room); err != nil {
			if info, _ := os.Stat(arg); c.fetches && info != nil && info.Mode().IsRegular() {
				return fmt.Errorf("%q is a file: name it with -f", clip(arg))
			}
			return err
		}
	}
	return nil
}

// split takes a URL apart as each dialect does: its paths, and its origin if that is
// needed.
func (c *call) split(url string, paths []robots.Path) (origin robots.Origin, err error) {
	for i := range c.dialects {
		if origin, paths[i], err = ask.URLIn(c.dialects[i].Escapes, url, c.fetches); err != nil {
			return origin, err
		}
	}
	return origin, nil
}

// oneURL returns the URL of a verb that takes one site: the argument, or the one
// that standard input holds.
func (c *call) oneURL() (string, error) {
	switch {
	case len(c.args) > 1:
		return "", fmt.Errorf("unexpected argument %q: one site at a time", clip(c.args[1]))
	case c.args[0] != "-":
		return c.args[0], nil
	}
	text, err := io.ReadAll(io.LimitReader(c.std.in, maxURL))
	if err != nil {
		return "", fmt.Errorf("cannot read standard input: %w", cause(err))
	}
	var urls []string
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\uFEFF")) {
		if strings.TrimSpace(line) != "" {
			urls = append(urls, strings.TrimRight(line, "\r\n"))
		}
	}
	switch len(urls) {
	case 0:
		return "", errors.New("standard input holds no URL")
	case 1:
		return urls[0], nil
	}
	return "", fmt.Errorf("standard input holds %d URLs: one site at a time", len(urls))
}

// A chunk is some lines in succession.
type chunk struct {
	in    []byte
	lines []lineSpan
}

// lineSpan is where a line stands in its chunk, without its line end. A line that
// is too long is not kept.
type lineSpan struct {
	start, end int
	over       bool
}

// usual reports whether the memory of a chunk is worth keeping for the next: it held no
// unusually long line.
func (c *chunk) usual() bool { return cap(c.in) <= 4*chunkBytes }

func (c *chunk) text(l lineSpan) []byte { return c.in[l.start:l.end] }

// lineReader reads chunks of whole lines.
type lineReader struct {
	r    *bufio.Reader
	most int  // bytes of a line that is kept
	past bool // the first line has been read
}

func newLineReader(r io.Reader, most int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 256<<10), most: most}
}

// ready reports whether there is a line without waiting.
func (r *lineReader) ready() bool {
	ahead, _ := r.r.Peek(r.r.Buffered())
	return bytes.IndexByte(ahead, '\n') >= 0
}

// chunk reads into c at least one line and then those that are there without waiting.
// What c held is lost. An error comes with the lines before it; a line that was cut by
// an error other than the end of input is none.
func (r *lineReader) chunk(c *chunk) error {
	c.in, c.lines = c.in[:0], c.lines[:0]
	if !c.usual() {
		c.in = nil
	}
	if err := r.line(c); err != nil {
		return err
	}
	r.whole(c)
	return nil
}

// whole takes the whole lines that are there without waiting, as far as there is room
// in c.
func (r *lineReader) whole(c *chunk) {
	ahead, _ := r.r.Peek(r.r.Buffered())
	n := 0
	for len(c.in)+n < chunkBytes && len(c.lines) < chunkLines {
		end := bytes.IndexByte(ahead[n:], '\n')
		if end < 0 {
			break
		}
		at := len(c.in) + n
		c.lines = append(c.lines, lineSpan{start: at, end: at + end})
		n += end + 1
	}
	c.in = append(c.in, ahead[:n]...)
	_, _ = r.r.Discard(n) // of what is there
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
		if length += len(part); length <= r.most {
			c.in = append(c.in, part...)
		} else if len(c.in) > start {
			c.in = append([]byte(nil), c.in[:start]...) // lets go of the line's storage
		}
		if ended || err == io.EOF {
			break
		}
	}
	l := lineSpan{start: start, end: len(c.in), over: length > r.most}
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
