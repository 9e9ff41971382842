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
	"github.com/robotskit/robots/internal/quote"
)

// CheckedURLs are the URLs of a run, each with the robots.txt that applies to it.
type CheckedURLs struct {
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

// A CheckedURL is a URL to check, valid until the next one.
type CheckedURL struct {
	URL    string // as given
	Target answer.Target
	Robots RobotsTXT         // that applies
	Rules  []*answer.RuleSet // that each crawler obeys
	First  bool              // of the URLs with this robots.txt
	Number int               // of answered URLs before it
	// Printable is the URL on a terminal, and Padding the number of spaces after it in a column of URLs, negative if it is wider.
	Printable string
	Padding   int
	live      *Live
}

// State describes the robots.txt of a site in one line, with a note on the state of its rules. It is "" for a file, and for all
// but the first URL of a site.
func (u *CheckedURL) State(note func(*robots.State) string) string {
	if u.Robots.Record == nil || !u.First {
		return ""
	}
	s := u.Rules[0].State()
	return u.live.StateLine(u.Robots.Record, s, note(s))
}

// Close ends the fetches.
func (u *CheckedURLs) Close() { u.Live.Close() }

// fetches reports whether robots.txt is fetched from the site of each URL.
func (u *CheckedURLs) fetches() bool { return u.RobotsTXT == nil }

// Parse reads a URL into t, which must be valid in the dialects of all crawlers.
func (u *CheckedURLs) Parse(url string, t *answer.Target) (site robots.Origin, err error) {
	t.Raw = url
	for i := range u.Crawlers {
		d := &u.Crawlers[i].Dialect
		if i > 0 && d.Escapes == u.Crawlers[i-1].Dialect.Escapes {
			continue
		}
		var path robots.Path
		if site, path, err = ask.URL(*d, url, u.fetches()); err != nil {
			return site, err
		}
		if d.Escapes != robots.EscapesRaw {
			t.Parsed = path
		}
	}
	return site, nil
}

// AddCredentials adds the users and passwords of all arguments before the first of them is fetched.
func (u *CheckedURLs) AddCredentials(args []string) {
	for _, arg := range args {
		if origin, _, err := robots.ParseURL(arg); err == nil {
			u.Live.AddCredentials(origin, arg)
		}
	}
}

// A urlLine is a line of a list with a URL.
type urlLine struct {
	url       string
	printable string // the URL
	width     int    // of that in characters
	target    answer.Target
}

// parseLine reads a URL of a list, where the target of a request in a log is one.
func (u *CheckedURLs) parseLine(text string, line *urlLine) (site robots.Origin, err error) {
	line.url = answer.HideUser(text)
	url := text
	if !u.fetches() {
		url = u.URLs.AsURL(text)
	}
	site, err = u.Parse(url, &line.target)
	if u.fetches() {
		u.Live.AddCredentials(site, url)
	}
	return site, err
}

// All yields each URL in order as soon as its robots.txt is there, and an error for each line of a list without one. If ctx ends,
// the URLs whose robots.txt is there are still yielded. Err returns why it ended early.
func (u *CheckedURLs) All(ctx context.Context) iter.Seq2[*CheckedURL, error] {
	return func(yield func(*CheckedURL, error) bool) {
		std := u.Reader.Std
		u.URLs.Live = u.Live
		u.URLs.ctx = ctx
		if u.fetches() {
			defer std.Screen.Report(ProgressInterval, func() string { return u.Live.Progress.Line(std.Name) })()
		} else {
			u.open(new(Site), *u.RobotsTXT)
		}
		for entries, err := range ReadAhead(ctx, Parsed(u.URLs, u.parseLine), u.URLs.Ready, true, u.Live, std) {
			if !u.yieldAll(ctx, entries, yield) {
				break
			}
			u.err = cmp.Or(u.err, err)
		}
		if ctx.Err() == nil {
			return
		}
		u.err = screen.ErrInterrupted
		if u.Read > 0 {
			u.err = fmt.Errorf("%w: %d of %d URLs are checked", screen.ErrInterrupted, u.Answered, u.Read)
		}
	}
}

// Err returns why All ended before the last URL, nil if it did not.
func (u *CheckedURLs) Err() error { return u.err }

// yieldAll yields a chunk of lines, and reports whether more are wanted.
func (u *CheckedURLs) yieldAll(ctx context.Context, entries []Entry[urlLine], yield func(*CheckedURL, error) bool) bool {
	for i := range entries {
		if line := &entries[i].Line; entries[i].Err == nil {
			u.Read++
			line.printable = line.url
			line.width = len(line.url)
			if !quote.IsPlain(line.url) {
				line.printable = robots.Printable(line.url)
				line.width = utf8.RuneCountInString(line.printable)
			}
			u.width = max(u.width, min(line.width, render.MaxURLColumn))
		}
	}
	checked := CheckedURL{live: u.Live}
	for i := range entries {
		e := &entries[i]
		if e.Err != nil {
			if !yield(nil, e.Err) {
				return false
			}
			continue
		}
		if err := u.await(ctx, e.Site); err != nil {
			u.err = err
			continue
		}
		checked.URL = e.Line.url
		checked.Printable = e.Line.printable
		checked.Padding = u.width - e.Line.width
		checked.Target = e.Line.target
		checked.Robots = u.from
		checked.Rules = u.rules
		checked.First = !u.site.Answered
		checked.Number = u.Answered
		if !yield(&checked, nil) {
			return false
		}
		u.site.Answered = true
		u.Answered++
	}
	return true
}

// await waits for the site that the next URL needs, and makes its rules.
func (u *CheckedURLs) await(ctx context.Context, s *Site) error {
	if s == nil || s == u.site {
		return nil
	}
	r, err := u.Live.Get(ctx, s)
	if err == nil {
		u.open(s, RobotsTXT{Record: r})
	}
	return err
}

// open makes the rules in the robots.txt of a site, and warns once about it.
func (u *CheckedURLs) open(s *Site, from RobotsTXT) {
	if from.Record != nil && !s.Answered {
		text := SiteFile(from.Record)
		u.Reader.Parse(&text, u.Crawlers[0].Dialect, u.Rules.MaxBytes)
		if u.Hints {
			u.Live.Hint(from.Record)
		}
	}
	u.site = s
	u.from = from
	u.rules = u.RulesIn(from)
}

// RulesIn returns the rules of each crawler in a robots.txt.
func (u *CheckedURLs) RulesIn(from RobotsTXT) (all []*answer.RuleSet) {
	for i := range u.Crawlers {
		c := &u.Crawlers[i]
		all = append(all, &answer.RuleSet{Rules: u.Rules.Rules(from, c.Dialect, u.Reader.Std.Now(), c.Tokens...)})
	}
	return all
}
