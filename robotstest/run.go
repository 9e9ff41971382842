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

// An Engine answers whether the crawler that calls itself agents, the most
// wanted token first and never none, may fetch url by the robots.txt body under
// a dialect. [errors.ErrUnsupported] says that the engine cannot be asked this;
// the cell is then skipped. Any other error fails.
type Engine func(body []byte, dialect string, agents []string, url string) (Answer, error)

// Options says how Run holds an engine against the cases. The zero value asks
// for every verdict of every case in every dialect.
type Options struct {
	// Cases are asked instead of the cases of this package.
	Cases []*Case
	// Dialects are asked about, nil for all.
	Dialects []string
	// TwoValued leaves out the cells "undefined", for engines that know only
	// allow and disallow.
	TwoValued bool
	// Known lists disagreements that are meant, each with its reason: by
	// Verdict.ID or by a case's name for all its cells. A disagreement listed
	// there does not fail; an entry without a disagreement does.
	Known map[string]string

	// Facts answers with the text of a fact (see Kind); nil leaves the
	// sections delays, rates, groups and sitemaps out.
	Facts func(kind Kind, body []byte, dialect string, agents []string) (string, error)
	// Governs answers whether a robots.txt holds for a URL; nil leaves the
	// section scope out. An error counts as no.
	Governs func(robotsURL, url string) (bool, error)
}

// ID names a cell in lists of known disagreements: case, dialect, agents and
// URL, such as "agent-case/rfc9309 GooseBot /x".
func (c *Case) ID(v Verdict) string {
	return c.Name + "/" + v.Dialect + " " + strings.Join(v.Agents, ">") + " " + shorten(v.URL)
}

// Run holds an engine against the cases, a subtest a case, dialect and row. A
// failure prints body, question, got and want.
func Run(t *testing.T, engine Engine, o Options) {
	t.Helper()
	cases := o.Cases
	if cases == nil {
		var err error
		if cases, err = Cases(); err != nil {
			t.Fatal(err)
		}
	}
	r := runner{engine: engine, o: o, used: map[string]bool{}}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { r.run(t, c) })
	}
	for id, reason := range o.Known {
		// A filter of go test may have left the cell out.
		if r.asked(id) && !r.used[id] {
			t.Errorf("%s: no disagreement any more (was: %s)", id, reason)
		}
	}
	t.Logf("%d cells agree, %d known disagreements, %d not supported", r.agreed, r.known, r.skipped)
}

type runner struct {
	engine                 Engine
	o                      Options
	ids                    []string
	used                   map[string]bool
	agreed, known, skipped int
}

func (r *runner) wants(dialect string) bool {
	return r.o.Dialects == nil || slices.Contains(r.o.Dialects, dialect)
}

func (r *runner) asked(id string) bool {
	return slices.ContainsFunc(r.ids, func(s string) bool { return s == id || strings.HasPrefix(s, id+"/") })
}

func (r *runner) run(t *testing.T, c *Case) {
	for _, dialect := range DialectNames() {
		if !r.wants(dialect) || !states(c, dialect) {
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

// states reports whether the case says anything about a dialect.
func states(c *Case, dialect string) bool {
	return slices.ContainsFunc(c.Verdicts, func(v Verdict) bool { return v.Dialect == dialect }) ||
		slices.ContainsFunc(c.Facts, func(f Fact) bool { return f.Dialect == dialect })
}

func (r *runner) verdict(t *testing.T, c *Case, v Verdict) {
	id := c.ID(v)
	r.ids = append(r.ids, id)
	got, err := r.engine(c.Robots, v.Dialect, v.Agents, v.URL)
	if errors.Is(err, errors.ErrUnsupported) {
		r.skipped++
		t.Skip(err)
	}
	if err == nil && v.Want.agrees(got) {
		r.agreed++
		return
	}
	for _, key := range []string{id, c.Name} {
		if reason, ok := r.o.Known[key]; ok {
			r.used[key] = true
			r.known++
			t.Logf("known disagreement: %s\ngot:  %s\nwant: %s", reason, got, v.Want)
			return
		}
	}
	t.Fatalf("%s.txtar:%d\n%s\ndialect %s, agents %q, URL %q\ngot:  %s%s\nwant: %s",
		c.Name, v.Line, listing(c.Robots), v.Dialect, v.Agents, shorten(v.URL), got, withError(err), v.Want)
}

func (r *runner) fact(t *testing.T, c *Case, f Fact) {
	got, err := r.o.Facts(f.Kind, c.Robots, f.Dialect, f.Agents)
	if errors.Is(err, errors.ErrUnsupported) {
		r.skipped++
		t.Skip(err)
	}
	if err != nil || got != f.Want {
		t.Fatalf("%s.txtar:%d\n%s\ndialect %s, agents %q, %s\ngot:  %s%s\nwant: %s",
			c.Name, f.Line, listing(c.Robots), f.Dialect, f.Agents, f.Kind, got, withError(err), f.Want)
	}
	r.agreed++
}

func withError(err error) string {
	if err == nil {
		return ""
	}
	return " (error: " + err.Error() + ")"
}

// shorten keeps long texts readable in failures and in the names of cells.
func shorten(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%s...(%d bytes)", s[:200], len(s))
	}
	return s
}

// maxListing is the number of lines of a body that a failure prints.
const maxListing = 40

// listing returns a body with line numbers, what cannot be seen escaped.
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
