package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/replace"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/fetch"
)

// maxFile limits what is read of a file or of standard input, and a line of a batch.
const maxFile = 64 << 20

// A textFile is a file, standard input or the robots.txt of a site, named by the user.
type textFile struct {
	ask.Source        // of a robots.txt to judge by: the File, or the Record of a site
	name       string // as given; of a site, the URL of its robots.txt
	body       []byte
	over       bool // larger than maxFile, and truncated to that
}

// source returns the source of what crawlers obey at a time.
func (f *textFile) source(now time.Time) answer.Source {
	if f.Record == nil {
		return f.File
	}
	return recordAt{f.Record, now}
}

// A recordAt is the outcome of a fetch, as crawlers obey it at a time.
type recordAt struct {
	record *fetch.Record
	now    time.Time
}

func (r recordAt) Rules(d robots.Dialect, tokens ...string) *robots.Rules {
	return r.record.Rules(d, r.now, tokens...)
}

// siteFile returns the robots.txt of a site.
func siteFile(r *fetch.Record) textFile {
	return textFile{Source: ask.Source{Record: r}, name: r.Origin.RobotsURL(), body: r.Body}
}

// inPlace reports whether the file can be replaced.
func (f *textFile) inPlace() bool { return f.name != "-" && !ask.NamesSite(f.name) }

// title returns the name of the file in messages.
func (f *textFile) title() string {
	if f.name == "-" {
		return "standard input"
	}
	return f.name
}

// getFiles reads files and standard input, and then fetches from sites concurrently, with the
// returned client, which the caller closes. An error of check, which gets each file, is returned.
func (c *command) getFiles(ctx context.Context, flags *siteFlags, dialects []robots.Dialect, maxBytes int, names []string, check func(*live, *textFile) error) (files []textFile, l *live, err error) {
	if err := stdinOnce(names...); err != nil {
		return nil, nil, err
	}
	fetched := slices.ContainsFunc(names, ask.NamesSite)
	if !fetched {
		if err := flags.unused("with a file"); err != nil {
			return nil, nil, err
		}
	}
	files = make([]textFile, len(names))
	sites := make([]*site, len(names)) // nil for a file
	for i, name := range names {
		if ask.NamesSite(name) {
			var origin robots.Origin
			origin, err = ask.Site(name)
			sites[i] = newSite(origin)
		} else {
			files[i], err = readText(c.std, name)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if fetched {
		if l, err = newLive(c, flags, dialects, maxBytes); err != nil {
			return nil, nil, err
		}
		defer c.std.Screen.Report(progressInterval, func() string { return l.progress.line(c.std.Name) })()
		var stop context.CancelFunc
		ctx, stop = screen.Interruptible(ctx)
		defer stop()
	}
	for _, s := range sites {
		if s != nil {
			l.start(ctx, s)
		}
	}
	for i, s := range sites {
		if s != nil {
			var r *fetch.Record
			if r, err = l.get(ctx, s); err == nil {
				files[i] = siteFile(r)
			}
		}
		if err == nil {
			err = check(l, &files[i])
		}
		if err != nil {
			l.close()
			return nil, nil, err
		}
	}
	return files, l, nil
}

// readFiles reads the files and sites of the arguments before any is processed. A file that is
// too large is an error, as truncating it would lose data when it is written back.
func (c *command) readFiles(ctx context.Context, flags *siteFlags) ([]textFile, error) {
	if len(c.args) == 0 {
		return nil, errors.New("no file given: name one, - for standard input, or the URL of a site")
	}
	files, l, err := c.getFiles(ctx, flags, robots.Dialects(), 0, c.args, func(l *live, f *textFile) error {
		switch r := f.Record; {
		case f.over:
			return fmt.Errorf("cannot read %s: it is larger than 64 MiB", f.title())
		case r == nil:
		case r.Outcome == fetch.Success && r.Truncated:
			c.warn("%s is truncated to %s by the fetch", f.name, render.Count(len(r.Body), "byte"))
		case r.Outcome == fetch.Success:
		case r.Outcome.Good():
			return fmt.Errorf("%s: status %d, so the site has no robots.txt to read", f.name, r.Status)
		default:
			return l.unknown(r, r.Rules(robots.RFC9309, l.began))
		}
		return nil
	})
	l.close()
	return files, err
}

// named returns the robots.txt of files, standard input and sites, to judge by, and warns about
// oddities in them as read by the first dialect. The caller closes the client.
func (c *command) named(ctx context.Context, flags *siteFlags, dialects []robots.Dialect, maxBytes int, names ...string) ([]textFile, *live, error) {
	return c.getFiles(ctx, flags, dialects, maxBytes, names, func(_ *live, f *textFile) error {
		if file := c.parseFile(f, dialects[0], maxBytes); f.Record == nil {
			f.File = file
		}
		return nil
	})
}

// known is named, and returns an error if the rules of a site are not known.
func (c *command) known(ctx context.Context, flags *siteFlags, dialects []robots.Dialect, names ...string) ([]textFile, error) {
	files, l, err := c.named(ctx, flags, dialects, 0, names...)
	defer l.close()
	for _, f := range files {
		for _, d := range dialects {
			if f.Record == nil {
				continue
			}
			if rules := f.Record.Rules(d, l.began); !answer.Known(rules) {
				return nil, l.unknown(f.Record, rules)
			}
		}
	}
	return files, err
}

// unknown is the error of a site whose rules are not known.
func (l *live) unknown(r *fetch.Record, rules *robots.Rules) error {
	return fmt.Errorf("cannot get %s", l.stateLine(r, rules.State(), rules.State().Text()))
}

// readNamed reads a file, or standard input for "-", and returns its name for messages.
func (c *command) readNamed(name string) (body []byte, title string, err error) {
	f, err := readText(c.std, name)
	if f.over {
		c.warn("%s is larger than 64 MiB; the rest is not read", f.title())
	}
	return f.body, f.title(), err
}

// readRobots reads a robots.txt and warns about oddities in it as read by RFC 9309.
func (c *command) readRobots(name string) (*robots.File, error) {
	f, err := readText(c.std, name)
	if err != nil {
		return nil, err
	}
	return c.parseFile(&f, robots.RFC9309, 0), nil
}

// parseFile parses a robots.txt and warns once about oddities in it. Truncation by --max-bytes is
// intended.
func (c *command) parseFile(text *textFile, d robots.Dialect, maxBytes int) *robots.File {
	f, title, r := robots.Parse(text.body), text.title(), text.Record
	if _, before := c.std.Warned.LoadOrStore("oddities of "+title, true); before {
		return f
	}
	switch {
	case text.over:
		c.warn("%s is larger than 64 MiB; the rest is not read", title)
	case r != nil && r.Truncated:
		title += " (truncated by the fetch)"
	}
	if maxBytes > 0 {
		d.MaxFileBytes = 0
	}
	for _, n := range f.Notes(d) {
		note := robots.Printable(title + ": " + n.Text)
		fmt.Fprintf(c.std.Err, "%s: warning: %s (%s)\n", c.std.Name, note, render.NewPalette(c.color, c.std.Screen.Terminal).Link(n.Clause))
	}
	switch {
	case r != nil:
	case len(text.body) == 0 && text.name == "-":
		c.warn("%s is empty, so everything is allowed", title)
	case isForeign(f):
		c.warn("%s has no line of a robots.txt, so everything is allowed: is it the right file?", title)
	}
	return f
}

// isForeign reports whether a file has text but no line of a field known in robots.txt.
func isForeign(f *robots.File) bool {
	text := false
	for line := range f.Lines(robots.Dialect{}) {
		if line.Field > robots.FieldUnknown {
			return false
		}
		text = text || strings.TrimSpace(strings.TrimSuffix(f.Text(line.Span), f.Text(line.Comment))) != ""
	}
	return text
}

// readText reads a file, or standard input if its name is "-".
func readText(std *screen.Streams, name string) (f textFile, err error) {
	f.name = name
	from, _, err := openNamed(std, name)
	if err != nil {
		return f, err
	}
	defer from.Close()
	if f.body, err = io.ReadAll(io.LimitReader(from, maxFile+1)); err != nil {
		return f, fmt.Errorf("cannot read %s: %w", f.title(), screen.Cause(err))
	}
	if f.over = len(f.body) > maxFile; f.over {
		f.body = f.body[:maxFile]
	}
	return f, nil
}

// openNamed opens a file, or standard input if its name is "-", and returns its name for messages.
// The caller closes it.
func openNamed(std *screen.Streams, name string) (from io.ReadCloser, title string, err error) {
	title = (&textFile{name: name}).title()
	switch name {
	case "":
		return nil, title, errors.New("empty file name")
	case "-":
		return io.NopCloser(std.In), title, nil
	}
	f, err := os.Open(name)
	if err == nil {
		if info, failed := f.Stat(); failed == nil && info.IsDir() {
			f.Close()
			err = errors.New("it is a folder, not a file")
		}
	}
	if err != nil {
		return nil, title, fmt.Errorf("cannot read %s: %w", title, screen.Cause(err))
	}
	return f, title, nil
}

// replaceFile is replace.File with the name in its error.
func replaceFile(name string, body []byte) error {
	if err := replace.File(name, body); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, screen.Cause(err))
	}
	return nil
}
