package robotstest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An Engine returns the verdict of the robots.txt body in a dialect for a URL and the crawler
// with the product tokens agents, most specific first and never empty. If it returns
// [errors.ErrUnsupported], the cell is skipped. Any other error fails.
type Engine func(body []byte, dialect string, agents []string, url string) (Answer, error)

// Options configure Run. The zero value tests all verdicts of all cases in all dialects.
type Options struct {
	// Cases replaces the cases of this package.
	Cases []*Case
	// Dialects are the tested dialects, nil for all. An unknown name fails.
	Dialects []string
	// TwoValued skips the cells "undefined", for engines that return only allow and disallow.
	TwoValued bool
	// Known lists intended disagreements with their reasons, by Case.ID or by a case's name
	// for all its cells. A listed disagreement does not fail; an entry without a disagreement
	// or of an unknown case does.
	Known map[string]string

	// Facts returns the text of a fact (see Kind); nil skips the sections delays, rates,
	// groups and sitemaps.
	Facts func(kind Kind, body []byte, dialect string, agents []string) (string, error)
	// Governs reports whether a robots.txt applies to a URL; nil skips the section scope. An
	// error counts as no.
	Governs func(robotsURL, url string) (bool, error)
}

// ID returns the key of a cell in Options.Known: case, dialect, agents and URL, such as
// "agent-case/rfc9309 googlebot /a".
func (c *Case) ID(v Verdict) string {
	return c.Name + "/" + v.Dialect + " " + strings.Join(v.Agents, ">") + " " + shorten(v.URL)
}

// Run tests an engine with the cases, with a subtest per case, dialect and row. A failure
// prints the body, the query, and the actual and expected answers.
func Run(t *testing.T, engine Engine, o Options) {
	t.Helper()
	cases := o.Cases
	if cases == nil {
		var err error
		if cases, err = Cases(); err != nil {
			t.Fatal(err)
		}
	}
	if o.Dialects == nil {
		o.Dialects = DialectNames()
	}
	for _, name := range o.Dialects {
		if !slices.Contains(DialectNames(), name) {
			t.Errorf("unknown dialect %q", name)
		}
	}
	r := runner{engine: engine, o: o, asked: map[string]bool{}, used: map[string]bool{}}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { r.run(t, c) })
	}
	for id, reason := range o.Known {
		name, _, _ := strings.Cut(id, "/")
		if !slices.ContainsFunc(cases, func(c *Case) bool { return c.Name == name }) {
			t.Errorf("%s: unknown case (was: %s)", id, reason)
		}
		// A filter of go test can exclude the cell.
		if r.asked[id] && !r.used[id] {
			t.Errorf("%s: no disagreement any more (was: %s)", id, reason)
		}
	}
	t.Logf("%d cells agree, %d known disagreements, %d not supported", r.agreed, r.known, r.skipped)
}

type runner struct {
	engine                 Engine
	o                      Options
	asked, used            map[string]bool // keys of Options.Known: of the cells, and of their known disagreements
	agreed, known, skipped int
}

func (r *runner) run(t *testing.T, c *Case) {
	for _, dialect := range r.o.Dialects {
		if !states(c, dialect) {
			continue
		}
		t.Run(dialect, func(t *testing.T) {
			for _, v := range c.Verdicts {
				if v.Dialect == dialect && !(r.o.TwoValued && v.Want.Verdict == "undefined") {
					t.Run(strconv.Itoa(v.Line), func(t *testing.T) { r.verdict(t, c, v) })
				}
			}
			for _, f := range c.Facts {
				if f.Dialect == dialect && r.o.Facts != nil {
					t.Run(strconv.Itoa(f.Line), func(t *testing.T) { r.fact(t, c, f) })
				}
			}
		})
	}
	if r.o.Governs == nil {
		return
	}
	for _, s := range c.Scopes {
		t.Run(strconv.Itoa(s.Line), func(t *testing.T) {
			got, err := r.o.Governs(s.Robots, s.URL)
			if got != s.Governs {
				t.Fatalf("%s.txtar:%d: does %s hold for %s\ngot:  %t (error: %v)\nwant: %t", c.Name, s.Line, s.Robots, s.URL, got, err, s.Governs)
			}
			r.agreed++
		})
	}
}

// states reports whether the case has a cell for a dialect.
func states(c *Case, dialect string) bool {
	return slices.ContainsFunc(c.Verdicts, func(v Verdict) bool { return v.Dialect == dialect }) ||
		slices.ContainsFunc(c.Facts, func(f Fact) bool { return f.Dialect == dialect })
}

func (r *runner) verdict(t *testing.T, c *Case, v Verdict) {
	id := c.ID(v)
	r.asked[id] = true
	r.asked[c.Name] = true
	got, err := r.engine(c.Robots, v.Dialect, v.Agents, v.URL)
	if errors.Is(err, errors.ErrUnsupported) {
		r.skipped++
		t.Skip(err)
	}
	if err == nil && v.Want.agrees(got) {
		r.agreed++
		return
	}
	if r.isKnown(t, got, v.Want, id, c.Name) {
		return
	}
	t.Fatalf("%s.txtar:%d\n%s\ndialect %s, agents %q, URL %q\ngot:  %s%s\nwant: %s",
		c.Name, v.Line, listing(c.Robots), v.Dialect, v.Agents, shorten(v.URL), got, withError(err), v.Want)
}

// isKnown reports whether a disagreement is listed under one of the keys.
func (r *runner) isKnown(t *testing.T, got, want any, keys ...string) bool {
	for _, key := range keys {
		if reason, ok := r.o.Known[key]; ok {
			r.used[key] = true
			r.known++
			t.Logf("known disagreement: %s\ngot:  %s\nwant: %s", reason, got, want)
			return true
		}
	}
	return false
}

func (r *runner) fact(t *testing.T, c *Case, f Fact) {
	r.asked[c.Name] = true
	got, err := r.o.Facts(f.Kind, c.Robots, f.Dialect, f.Agents)
	if errors.Is(err, errors.ErrUnsupported) {
		r.skipped++
		t.Skip(err)
	}
	if err == nil && got == f.Want {
		r.agreed++
		return
	}
	if !r.isKnown(t, got, f.Want, c.Name) {
		t.Fatalf("%s.txtar:%d\n%s\ndialect %s, agents %q, %s\ngot:  %s%s\nwant: %s",
			c.Name, f.Line, listing(c.Robots), f.Dialect, f.Agents, f.Kind, got, withError(err), f.Want)
	}
}

func withError(err error) string {
	if err == nil {
		return ""
	}
	return " (error: " + err.Error() + ")"
}

// shorten shortens texts in failures and in names of cells.
func shorten(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%s...(%d bytes)", s[:200], len(s))
	}
	return s
}

// maxListing is the number of lines of a body in a failure.
const maxListing = 40

// listing returns a body with line numbers and escapes.
func listing(body []byte) string {
	var b strings.Builder
	body = bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF"))
	for n := 1; len(body) > 0; n++ {
		if n > maxListing {
			fmt.Fprintf(&b, "      ... and %d bytes", len(body))
			break
		}
		end := len(body)
		if i := bytes.IndexAny(body, "\r\n"); i >= 0 {
			end = i + 1
			if body[i] == '\r' && end < len(body) && body[end] == '\n' {
				end++
			}
		}
		text := strconv.Quote(shorten(string(body[:end])))
		fmt.Fprintf(&b, "%5d %s\n", n, text[1:len(text)-1])
		body = body[end:]
	}
	return strings.TrimSuffix(b.String(), "\n")
}
