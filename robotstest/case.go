package robotstest

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"golang.org/x/tools/txtar"
)

//go:embed cases/*.txtar
var files embed.FS

// A Case is one case file.
type Case struct {
	// Name is the file's name without directory and extension; it begins with the topic:
	// "agent-digits".
	Name string
	// Comment describes the behavior and its reason, and refers to clauses of docs/clauses.md.
	Comment string
	// Robots is the body of the robots.txt, nil if the case has none.
	Robots []byte
	// Verdicts, Facts and Scopes are the expectations, in file order.
	Verdicts []Verdict
	Facts    []Fact
	Scopes   []Scope
}

// A Verdict is a cell of the section verdicts: the expected answer for one crawler, URL and
// dialect.
type Verdict struct {
	Line    int // of the row in the case file
	Dialect string
	// Agents are the crawler's product tokens, most specific first, never empty: a crawler
	// without a name has the token "*" or "".
	Agents []string
	URL    string
	Want   Answer
}

// An Answer is a verdict, expected by a case or returned by an engine.
type Answer struct {
	// Verdict is "allow", "disallow" or "undefined".
	Verdict string
	// Line is the number of the deciding line, from 1; 0 if there is none, -1 if unknown.
	Line int
	// Reason is "rule", "no-rule", "no-group", "empty-file" or "robots-txt", or "" if unknown.
	Reason string
}

// Boolean returns the Answer of an engine that returns only a boolean.
func Boolean(allowed bool) Answer {
	if allowed {
		return Answer{Verdict: "allow", Line: -1}
	}
	return Answer{Verdict: "disallow", Line: -1}
}

// String returns the answer as in a cell: "allow", "disallow:3" or "allow:no-group".
func (a Answer) String() string {
	switch {
	case a.Line > 0:
		return a.Verdict + ":" + strconv.Itoa(a.Line)
	case a.Reason != "":
		return a.Verdict + ":" + a.Reason
	}
	return a.Verdict
}

// agrees reports whether got is the expected answer. Unknown parts are not compared.
func (a Answer) agrees(got Answer) bool {
	return a.Verdict == got.Verdict &&
		(a.Line < 0 || got.Line < 0 || a.Line == got.Line) &&
		(a.Reason == "" || got.Reason == "" || a.Reason == got.Reason)
}

// Kind is the subject of a Fact.
type Kind string

// What a robots.txt states other than rules. Each has one text form, in which answers are
// compared; "none" means that there is nothing.
const (
	// Delay is the Crawl-delay of the crawler's group in seconds: "0.5".
	Delay Kind = "delays"
	// Rates are the crawler's Request-rates in file order, documents per seconds, with the
	// window after an @: "1/30s@1800-1900,10/60s".
	Rates Kind = "rates"
	// Group is the token that selected the group, in lower case, and the lines of all
	// user-agent lines that name it: "googlebot:1,7".
	Group Kind = "groups"
	// Sitemaps are the values of the Sitemap lines in file order, separated by line feeds.
	Sitemaps Kind = "sitemaps"
)

// None is the text of a missing Fact.
const None = "none"

// A Fact is a cell of the sections delays, rates and groups, or a column of the section
// sitemaps.
type Fact struct {
	Kind    Kind
	Line    int // of the row in the case file
	Dialect string
	Agents  []string // as in Verdict, nil for Sitemaps
	Want    string
}

// A Scope is a row of the section scope: whether the robots.txt at Robots applies to URL.
type Scope struct {
	Line        int // of the row in the case file
	Robots, URL string
	Governs     bool
}

// Cases returns the cases of this package, sorted by name.
func Cases() ([]*Case, error) {
	names, err := fs.Glob(files, "cases/*.txtar")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var cases []*Case
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		c, err := Parse(name, data)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// Parse reads a case file. Errors contain the file and line.
func Parse(name string, data []byte) (*Case, error) {
	p := parser{name: name, c: &Case{Name: strings.TrimSuffix(path.Base(name), ".txtar")}}
	if err := p.parse(txtar.Parse(data)); err != nil {
		return nil, err
	}
	return p.c, nil
}

type parser struct {
	name string
	c    *Case
}

func (p *parser) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.name, line, fmt.Sprintf(format, args...))
}

func (p *parser) parse(a *txtar.Archive) error {
	p.c.Comment = strings.TrimSpace(string(a.Comment))
	if p.c.Comment == "" {
		return p.errorf(1, "no comment says what the case shows")
	}
	line := 1 + bytes.Count(a.Comment, []byte("\n"))
	seen := map[string]bool{}
	for _, f := range a.Files {
		at := line // of the section's marker
		line += 1 + bytes.Count(f.Data, []byte("\n"))
		section := strings.TrimSuffix(f.Name, ".esc")
		if seen[section] {
			return p.errorf(at, "second section %s", section)
		}
		seen[section] = true
		if err := p.section(f, at); err != nil {
			return err
		}
	}
	switch {
	case len(p.c.Verdicts)+len(p.c.Facts)+len(p.c.Scopes) == 0:
		return p.errorf(line, "the case states nothing")
	case len(p.c.Verdicts)+len(p.c.Facts) > 0 && p.c.Robots == nil:
		return p.errorf(line, "no section robots.txt")
	}
	return nil
}

func (p *parser) section(f txtar.File, at int) error {
	switch f.Name {
	case "robots.txt":
		p.c.Robots = append([]byte{}, f.Data...)
		return nil
	case "robots.txt.esc":
		body := []byte{}
		line := at
		for l := range bytes.Lines(f.Data) {
			line++
			b, err := unescape(strings.TrimSuffix(string(l), "\n"))
			if err != nil {
				return p.errorf(line, "%v", err)
			}
			body = append(body, b...)
		}
		p.c.Robots = body
		return nil
	}
	t, err := p.table(f, at)
	if err != nil {
		return err
	}
	switch f.Name {
	case "verdicts":
		return p.verdicts(t)
	case string(Delay), string(Rates), string(Group):
		return p.facts(Kind(f.Name), t)
	case string(Sitemaps):
		return p.sitemaps(t)
	case "scope":
		return p.scope(t)
	}
	return p.errorf(at, "unknown section %s", f.Name)
}

func (p *parser) verdicts(t *table) error {
	cols, err := p.columns(t, "agent", "url")
	if err != nil {
		return err
	}
	for _, r := range t.rows {
		agents, err := p.agents(r)
		if err != nil {
			return err
		}
		url, err := p.text(r, 1)
		if err != nil {
			return err
		}
		err = p.cells(r, cols, func(dialect, cell string) error {
			want, err := parseAnswer(cell)
			if err != nil {
				return p.errorf(r.line, "%v", err)
			}
			p.c.Verdicts = append(p.c.Verdicts, Verdict{r.line, dialect, agents, url, want})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) facts(kind Kind, t *table) error {
	cols, err := p.columns(t, "agent")
	if err != nil {
		return err
	}
	for _, r := range t.rows {
		agents, err := p.agents(r)
		if err != nil {
			return err
		}
		err = p.cells(r, cols, func(dialect, cell string) error {
			p.c.Facts = append(p.c.Facts, Fact{kind, r.line, dialect, agents, cell})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sitemaps reads columns: the cells of a dialect are its list, and "-" is a missing entry.
func (p *parser) sitemaps(t *table) error {
	cols, err := p.columns(t)
	if err != nil {
		return err
	}
	lists := map[string][]string{}
	for _, r := range t.rows {
		err := p.cells(r, cols, func(dialect, cell string) error {
			text, err := unescape(cell)
			if err != nil {
				return p.errorf(r.line, "%v", err)
			}
			lists[dialect] = append(lists[dialect], string(text))
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, col := range cols.order {
		want := None
		if l := lists[col]; len(l) > 0 {
			want = strings.Join(l, "\n")
		}
		p.c.Facts = append(p.c.Facts, Fact{Kind: Sitemaps, Line: t.line, Dialect: col, Want: want})
	}
	return nil
}

func (p *parser) scope(t *table) error {
	if !slices.Equal(t.head, []string{"robots", "url", "governs"}) {
		return p.errorf(t.line, "the columns of scope are robots, url and governs")
	}
	for _, r := range t.rows {
		at, err := p.text(r, 0)
		if err != nil {
			return err
		}
		url, err := p.text(r, 1)
		if err != nil {
			return err
		}
		if r.cells[2] != "yes" && r.cells[2] != "no" {
			return p.errorf(r.line, "%q is neither yes nor no", r.cells[2])
		}
		p.c.Scopes = append(p.c.Scopes, Scope{r.line, at, url, r.cells[2] == "yes"})
	}
	return nil
}

// reasons are those that a cell can have.
var reasons = []string{"rule", "no-rule", "no-group", "empty-file", "robots-txt"}

func parseAnswer(cell string) (Answer, error) {
	word, why, found := strings.Cut(cell, ":")
	a := Answer{Verdict: word, Line: -1}
	if word != "allow" && word != "disallow" && word != "undefined" {
		return a, fmt.Errorf("%q is none of allow, disallow, undefined, - and =", cell)
	}
	if !found {
		return a, nil
	}
	if n, err := strconv.Atoi(why); err == nil && n > 0 {
		a.Line, a.Reason = n, "rule"
		return a, nil
	}
	if !slices.Contains(reasons, why) {
		return a, fmt.Errorf("%q: %q is neither a line nor a reason", cell, why)
	}
	a.Reason = why
	if why != "rule" {
		a.Line = 0
	}
	return a, nil
}

// DialectNames returns the names of the dialects in the cases.
func DialectNames() []string {
	var names []string
	for _, d := range robots.Dialects() {
		names = append(names, d.Name)
	}
	return names
}

// columns maps dialects to the cells of a row.
type columns struct {
	order []string       // dialects that have a column, in the order of DialectNames
	index map[string]int // of a dialect's cell
	all   int            // index of the cell of "all", or -1
	cells int            // number of cells before the first dialect
}

// columns reads the header of a table: the leading names, then dialects, several in one column
// separated by commas. "all" stands for all dialects without a column.
func (p *parser) columns(t *table, leading ...string) (columns, error) {
	c := columns{index: map[string]int{}, all: -1, cells: len(leading)}
	if len(t.head) <= len(leading) || !slices.Equal(t.head[:len(leading)], leading) {
		return c, p.errorf(t.line, "the header is not %s and at least one dialect", strings.Join(leading, ", "))
	}
	known := DialectNames()
	for i := len(leading); i < len(t.head); i++ {
		if t.head[i] == "all" {
			if c.all >= 0 {
				return c, p.errorf(t.line, "two columns for all")
			}
			c.all = i
			continue
		}
		for name := range strings.SplitSeq(t.head[i], ",") {
			if !slices.Contains(known, name) {
				return c, p.errorf(t.line, "unknown dialect %q", name)
			}
			if _, twice := c.index[name]; twice {
				return c, p.errorf(t.line, "two columns for %s", name)
			}
			c.index[name] = i
		}
	}
	for _, name := range known {
		if _, own := c.index[name]; own || c.all >= 0 {
			c.order = append(c.order, name)
		}
	}
	return c, nil
}

// cells calls f for each dialect with a cell in the row. In a dialect's own column "=" stands
// for the cell of "all".
func (p *parser) cells(r row, cols columns, f func(dialect, cell string) error) error {
	for _, dialect := range cols.order {
		i, own := cols.index[dialect]
		if !own || r.cells[i] == "=" {
			if cols.all < 0 {
				return p.errorf(r.line, "= without a column for all")
			}
			i = cols.all
		}
		if r.cells[i] == "-" {
			continue
		}
		if err := f(dialect, r.cells[i]); err != nil {
			return err
		}
	}
	return nil
}

// agents reads the first cell of a row: tokens separated by '>'.
func (p *parser) agents(r row) ([]string, error) {
	var agents []string
	for s := range strings.SplitSeq(r.cells[0], ">") {
		text, err := unescape(s)
		if err != nil {
			return nil, p.errorf(r.line, "%v", err)
		}
		agents = append(agents, string(text))
	}
	return agents, nil
}

func (p *parser) text(r row, i int) (string, error) {
	b, err := unescape(r.cells[i])
	if err != nil {
		return "", p.errorf(r.line, "%v", err)
	}
	return string(b), nil
}
