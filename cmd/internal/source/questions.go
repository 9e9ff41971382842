package source

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
)

// Questions are the URLs of a run, each with the robots.txt that applies to it.
type Questions struct {
	Reader    *Reader          // warns about each robots.txt once
	URLs      *URLReader       // where they come from
	Crawlers  []answer.Crawler // that the URLs are checked for, at least one
	RobotsTXT *RobotsTXT       // of all URLs; nil if it is fetched from the site of each
	Live      *Live            // fetches, nil if nothing is fetched
	Rules     RuleOptions
	Hints     bool // warn which flag permits what the guard has refused

	Read     int   // URLs, without lines that have none
	Answered int   // URLs
	err      error // why not all URLs are answered

	// The robots.txt of the last URL.
	site  *Site
	from  RobotsTXT
	rules []*answer.RuleSet
	width int // of the widest URL that has been read
}

// A Question is a URL to check, valid until the next one.
type Question struct {
	URL    string // as given
	Target answer.Target
	Robots RobotsTXT         // that applies
	Rules  []*answer.RuleSet // that each crawler obeys
	First  bool              // of the URLs with this robots.txt
	Number int               // of answered URLs before it
	// Padding is the number of spaces after the URL in a column of URLs, negative if the URL is wider.
	Padding int
	live    *Live
}

// State describes the robots.txt of a site in one line, with a note on the state of its rules. It is "" for a file, and for all
// but the first URL of a site.
func (q *Question) State(note func(*robots.State) string) string {
	if q.Robots.Record == nil || !q.First {
		return ""
	}
	s := q.Rules[0].State()
	return q.live.StateLine(q.Robots.Record, s, note(s))
}

// Close ends the fetches.
func (q *Questions) Close() { q.Live.Close() }

// fetches reports whether robots.txt is fetched from the site of each URL.
func (q *Questions) fetches() bool { return q.RobotsTXT == nil }

// Parse reads a URL, which must be valid in the dialects of all crawlers.
func (q *Questions) Parse(url string) (t answer.Target, site robots.Origin, err error) {
	t.Raw = url
	for i := range q.Crawlers {
		d := &q.Crawlers[i].Dialect
		if i > 0 && d.Escapes == q.Crawlers[i-1].Dialect.Escapes {
			continue
		}
		var path robots.Path
		if site, path, err = ask.URL(*d, url, q.fetches()); err != nil {
			return t, site, err
		}
		if d.Escapes != robots.EscapesRaw {
			t.Parsed = path
		}
	}
	return t, site, nil
}

// AddCredentials adds the users and passwords of all arguments before the first of them is fetched.
func (q *Questions) AddCredentials(args []string) {
	for _, arg := range args {
		if origin, _, err := robots.ParseURL(arg); err == nil {
			q.Live.AddCredentials(origin, arg)
		}
	}
}

// A urlLine is a line of a list with a URL.
type urlLine struct {
	url    string
	width  int // in characters, as it is printed
	target answer.Target
}

// parseLine reads a URL of a list, where the target of a request in a log is one.
func (q *Questions) parseLine(text string) (line urlLine, site robots.Origin, err error) {
	line.url = answer.HideUser(text)
	url := text
	if !q.fetches() {
		url = q.URLs.AsURL(text)
	}
	line.target, site, err = q.Parse(url)
	if q.fetches() {
		q.Live.AddCredentials(site, url)
	}
	return line, site, err
}

// All yields each URL in order as soon as its robots.txt is there, and an error for each line of a list without one. If ctx ends,
// the URLs whose robots.txt is there are still yielded. Err returns why it ended early.
func (q *Questions) All(ctx context.Context) iter.Seq2[*Question, error] {
	return func(yield func(*Question, error) bool) {
		std := q.Reader.Std
		q.URLs.Live = q.Live
		q.URLs.ctx = ctx
		if q.fetches() {
			defer std.Screen.Report(ProgressInterval, func() string { return q.Live.Progress.Line(std.Name) })()
		} else {
			q.open(new(Site), *q.RobotsTXT)
		}
		for entries, err := range ReadAhead(ctx, Parsed(q.URLs, q.parseLine), q.URLs.Ready, true, q.Live, std) {
			if !q.yieldAll(ctx, entries, yield) {
				break
			}
			q.err = cmp.Or(q.err, err)
		}
		if ctx.Err() == nil {
			return
		}
		q.err = screen.ErrInterrupted
		if q.Read > 0 {
			q.err = fmt.Errorf("%w: %d of %d URLs are checked", screen.ErrInterrupted, q.Answered, q.Read)
		}
	}
}

// Err returns why All ended before the last URL, nil if it did not.
func (q *Questions) Err() error { return q.err }

// yieldAll yields a chunk of lines, and reports whether more are wanted.
func (q *Questions) yieldAll(ctx context.Context, entries []Entry[urlLine], yield func(*Question, error) bool) bool {
	for i := range entries {
		if line := &entries[i].Line; entries[i].Err == nil {
			q.Read++
			line.width = utf8.RuneCountInString(robots.Printable(line.url))
			q.width = max(q.width, min(line.width, render.MaxURLColumn))
		}
	}
	question := Question{live: q.Live}
	for i := range entries {
		e := &entries[i]
		if e.Err != nil {
			if !yield(nil, e.Err) {
				return false
			}
			continue
		}
		if err := q.await(ctx, e.Site); err != nil {
			q.err = err
			continue
		}
		question.URL = e.Line.url
		question.Padding = q.width - e.Line.width
		question.Target = e.Line.target
		question.Robots = q.from
		question.Rules = q.rules
		question.First = !q.site.Answered
		question.Number = q.Answered
		if !yield(&question, nil) {
			return false
		}
		q.site.Answered = true
		q.Answered++
	}
	return true
}

// await waits for the site that the next URL needs, and makes its rules.
func (q *Questions) await(ctx context.Context, s *Site) error {
	if s == nil || s == q.site {
		return nil
	}
	r, err := q.Live.Get(ctx, s)
	if err == nil {
		q.open(s, RobotsTXT{Record: r})
	}
	return err
}

// open makes the rules in the robots.txt of a site, and warns once about it.
func (q *Questions) open(s *Site, from RobotsTXT) {
	if from.Record != nil && !s.Answered {
		text := SiteFile(from.Record)
		q.Reader.Parse(&text, q.Crawlers[0].Dialect, q.Rules.MaxBytes)
		if q.Hints {
			q.Live.Hint(from.Record)
		}
	}
	q.site = s
	q.from = from
	q.rules = q.RulesIn(from)
}

// RulesIn returns the rules of each crawler in a robots.txt.
func (q *Questions) RulesIn(from RobotsTXT) (all []*answer.RuleSet) {
	for i := range q.Crawlers {
		c := &q.Crawlers[i]
		all = append(all, &answer.RuleSet{Rules: q.Rules.Rules(from, c.Dialect, q.Reader.Std.Now(), c.Tokens...)})
	}
	return all
}
