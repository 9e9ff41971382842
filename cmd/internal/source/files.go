// Package source gets what commands ask about: robots.txt files, from files, standard input and sites, and
// URLs, from lists, CSV, sitemaps and access logs. What is read ahead is fetched while earlier lines are
// answered.
package source

import (
	"context"
	"fmt"
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/fetch"
)

// MaxFile limits what is read of a file or of standard input, and a line of a batch.
const MaxFile = 64 << 20

// A Reader reads the robots.txt that users name, and warns about oddities in them.
type Reader struct {
	Std    *screen.Streams
	Colors render.Palette // of warnings
}

// Wanted are named robots.txt files, and how those of sites are fetched.
type Wanted struct {
	Names    []string // of files, - for standard input, URLs of sites
	Dialects []robots.Dialect
	MaxBytes int     // instead of the size limit of the dialects, unless 0
	Options  Options // for sites
}

// Files reads files and standard input, and then fetches from sites concurrently, with the
// returned client, which the caller closes. An error of check, which gets each file, is returned.
func (r *Reader) Files(ctx context.Context, w *Wanted, check func(*Live, *Text) error) (files []Text, l *Live, err error) {
	files, sites, err := r.readFiles(w.Names)
	if err != nil {
		return nil, nil, err
	}
	if slices.ContainsFunc(sites, func(s *Site) bool { return s != nil }) {
		if l, err = NewLive(r.Std, w.Options, w.Dialects, w.MaxBytes); err != nil {
			return nil, nil, err
		}
		defer r.Std.Screen.Report(ProgressInterval, func() string { return l.Progress.Line(r.Std.Name) })()
		var stop context.CancelFunc
		ctx, stop = screen.Interruptible(ctx)
		defer stop()
		l.startAll(ctx, w.Names, sites)
	}
	for i, s := range sites {
		if s != nil {
			var record *fetch.Record
			if record, err = l.Get(ctx, s); err == nil {
				files[i] = SiteFile(record)
			}
		}
		if err == nil {
			err = check(l, &files[i])
		}
		if err != nil {
			l.Close()
			return nil, nil, err
		}
	}
	return files, l, nil
}

// readFiles reads what is not a site, and returns a site for each other name, nil for a file.
func (r *Reader) readFiles(names []string) (files []Text, sites []*Site, err error) {
	files = make([]Text, len(names))
	sites = make([]*Site, len(names))
	for i, name := range names {
		if ask.NamesSite(name) {
			var origin robots.Origin
			origin, err = ask.Site(name)
			sites[i] = NewSite(origin)
		} else {
			files[i], err = readText(r.Std, name)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return files, sites, nil
}

// startAll starts the fetches from sites after the credentials of all their URLs are known.
func (l *Live) startAll(ctx context.Context, names []string, sites []*Site) {
	for i, s := range sites {
		if s != nil {
			l.AddCredentials(s.origin, names[i])
		}
	}
	for _, s := range sites {
		if s != nil {
			l.Start(ctx, s)
		}
	}
}

// Whole returns files of which nothing is missing. One that is too large is an error, as truncating it
// would lose data when it is written back; so is a site without a robots.txt.
func (r *Reader) Whole(ctx context.Context, w *Wanted) ([]Text, error) {
	files, l, err := r.Files(ctx, w, func(l *Live, f *Text) error {
		switch record := f.Record; {
		case f.exceedsLimit:
			return fmt.Errorf("cannot read %s: it is larger than 64 MiB", f.Title())
		case record == nil:
		case record.Outcome == fetch.Success && record.Truncated:
			r.Std.Warn("%s is truncated to %s by the fetch", f.Name, render.Count(len(record.Body), "byte"))
		case record.Outcome == fetch.Success:
		case record.Outcome.Good():
			return fmt.Errorf("%s: status %d, so the site has no robots.txt to read", f.Name, record.Status)
		default:
			return l.unknown(record, record.Rules(robots.RFC9309, l.began))
		}
		return nil
	})
	l.Close()
	return files, err
}

// Named returns the robots.txt of files, standard input and sites, to judge by, and warns about
// oddities in them as read by the first dialect. The caller closes the client.
func (r *Reader) Named(ctx context.Context, w *Wanted) ([]Text, *Live, error) {
	return r.Files(ctx, w, func(_ *Live, f *Text) error {
		if file := r.Parse(f, w.Dialects[0], w.MaxBytes); f.Record == nil {
			f.File = file
		}
		return nil
	})
}

// Known is Named, and returns an error if the rules of a site are not known.
func (r *Reader) Known(ctx context.Context, w *Wanted) ([]Text, error) {
	files, l, err := r.Named(ctx, w)
	defer l.Close()
	for _, f := range files {
		for _, d := range w.Dialects {
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
func (l *Live) unknown(r *fetch.Record, rules *robots.Rules) error {
	return fmt.Errorf("cannot get %s", l.StateLine(r, rules.State(), rules.State().Text()))
}

// Text reads a file, or standard input for "-", and returns its name for messages.
func (r *Reader) Text(name string) (body []byte, title string, err error) {
	f, err := readText(r.Std, name)
	if f.exceedsLimit {
		r.Std.Warn("%s is larger than 64 MiB; the rest is not read", f.Title())
	}
	return f.Body, f.Title(), err
}

// Robots reads a robots.txt and warns about oddities in it as read by RFC 9309.
func (r *Reader) Robots(name string) (*robots.File, error) {
	f, err := readText(r.Std, name)
	if err != nil {
		return nil, err
	}
	return r.Parse(&f, robots.RFC9309, 0), nil
}

// Parse parses a robots.txt and warns once about oddities in it. Truncation by --max-bytes is
// intended.
func (r *Reader) Parse(text *Text, d robots.Dialect, maxBytes int) *robots.File {
	f := robots.Parse(text.Body)
	title := text.Title()
	record := text.Record
	if !r.Std.First("oddities of " + title) {
		return f
	}
	switch {
	case text.exceedsLimit:
		r.Std.Warn("%s is larger than 64 MiB; the rest is not read", title)
	case record != nil && record.Truncated:
		title += " (truncated by the fetch)"
	}
	if maxBytes > 0 {
		d.MaxFileBytes = 0
	}
	for _, n := range f.Notes(d) {
		r.warn(title, n.Text, n.Clause)
	}
	if record != nil {
		for _, n := range Evidence(record) {
			if n.Clause == "HTTP-02" {
				r.warn(title, n.Text, n.Clause)
			}
		}
	}
	switch {
	case record != nil:
	case len(text.Body) == 0 && text.Name == "-":
		r.Std.Warn("%s is empty, so everything is allowed", title)
	case answer.IsForeign(f):
		r.Std.Warn("%s has no line of a robots.txt, so everything is allowed: is it the right file?", title)
	}
	return f
}

// warn writes a warning about a file with its clause.
func (r *Reader) warn(title, text, clause string) {
	fmt.Fprintf(r.Std.Err, "%s: warning: %s (%s)\n", r.Std.Name, robots.Printable(title+": "+text), r.Colors.Link(clause))
}
