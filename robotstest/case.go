package robotstest

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
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
	if f.Name == "scope" {
		return p.scope(t)
	}
	leading, ok := leadingColumns[f.Name]
	if !ok {
		return p.errorf(at, "unknown section %s", f.Name)
	}
	cols, err := columnsOf(t.head, leading)
	if err != nil {
		return p.errorf(t.line, "%v", err)
	}
	sitemaps := map[string][]string{} // by dialect
	for _, r := range t.rows {
		if err := p.row(f.Name, r, cols, sitemaps); err != nil {
			return p.errorf(r.line, "%v", err)
		}
	}
	if f.Name != string(Sitemaps) {
		return nil
	}
	for _, dialect := range cols.order {
		want := cmp.Or(strings.Join(sitemaps[dialect], "\n"), None)
		p.c.Facts = append(p.c.Facts, Fact{Kind: Sitemaps, Line: t.line, Dialect: dialect, Want: want})
	}
	return nil
}

// leadingColumns are the columns before those of dialects.
var leadingColumns = map[string][]string{
	"verdicts":       {"agent", "url"},
	string(Delay):    {"agent"},
	string(Rates):    {"agent"},
	string(Group):    {"agent"},
	string(Sitemaps): {},
}

// row adds the cells of a row, of which "-" has none. Sitemaps are listed by dialect.
func (p *parser) row(section string, r row, cols columns, sitemaps map[string][]string) error {
	var asked []string // agents separated by '>', and the URL of a verdict
	if section != string(Sitemaps) {
		asked = strings.Split(r.cells[0], ">")
	}
	if section == "verdicts" {
		asked = append(asked, r.cells[1])
	}
	asked, err := texts(asked...)
	if err != nil {
		return err
	}
	for _, dialect := range cols.order {
		cell, err := cols.cell(r, dialect)
		if err != nil {
			return err
		}
		switch {
		case cell == "-":
		case section == "verdicts":
			want, err := parseAnswer(cell)
			if err != nil {
				return err
			}
			last := len(asked) - 1
			p.c.Verdicts = append(p.c.Verdicts, Verdict{r.line, dialect, asked[:last:last], asked[last], want})
		case section == string(Sitemaps):
			text, err := texts(cell)
			if err != nil {
				return err
			}
			sitemaps[dialect] = append(sitemaps[dialect], text...)
		default:
			p.c.Facts = append(p.c.Facts, Fact{Kind(section), r.line, dialect, asked, cell})
		}
	}
	return nil
}

func (p *parser) scope(t *table) error {
	if !slices.Equal(t.head, []string{"robots", "url", "governs"}) {
		return p.errorf(t.line, "the columns of scope are robots, url and governs")
	}
	for _, r := range t.rows {
		urls, err := texts(r.cells[:2]...)
		if err != nil {
			return p.errorf(r.line, "%v", err)
		}
		if r.cells[2] != "yes" && r.cells[2] != "no" {
			return p.errorf(r.line, "%q is neither yes nor no", r.cells[2])
		}
		p.c.Scopes = append(p.c.Scopes, Scope{r.line, urls[0], urls[1], r.cells[2] == "yes"})
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
		a.Line = n
		a.Reason = "rule"
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
	index map[string]int // of a dialect's own cell, and of that of "all"
}

// columnsOf reads the header of a table: the leading names, then dialects, several in one column
// separated by commas. "all" stands for all dialects without a column.
func columnsOf(head, leading []string) (columns, error) {
	c := columns{index: map[string]int{}}
	n := len(leading)
	if len(head) <= n || !slices.Equal(head[:n], leading) {
		return c, fmt.Errorf("the header is not %s and at least one dialect", strings.Join(leading, ", "))
	}
	known := DialectNames()
	for i, names := range head[n:] {
		for name := range strings.SplitSeq(names, ",") {
			if name != all && !slices.Contains(known, name) {
				return c, fmt.Errorf("unknown dialect %q", name)
			}
			if _, twice := c.index[name]; twice {
				return c, fmt.Errorf("two columns for %s", name)
			}
			c.index[name] = n + i
		}
	}
	_, rest := c.index[all]
	c.order = slices.DeleteFunc(known, func(name string) bool {
		_, own := c.index[name]
		return !own && !rest
	})
	return c, nil
}

const all = "all"

// cell returns the cell of a dialect. In a dialect's own column "=" stands for that of "all".
func (c columns) cell(r row, dialect string) (string, error) {
	if i, own := c.index[dialect]; own && r.cells[i] != "=" {
		return r.cells[i], nil
	}
	i, ok := c.index[all]
	if !ok {
		return "", errors.New("= without a column for all")
	}
	return r.cells[i], nil
}

// texts returns what cells with escapes stand for.
func texts(cells ...string) ([]string, error) {
	var list []string
	for _, cell := range cells {
		text, err := unescape(cell)
		if err != nil {
			return nil, err
		}
		list = append(list, string(text))
	}
	return list, nil
}
