package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

// A pass is one run over one file.
type pass struct {
	file      *robots.File
	body      []byte
	kind      string // what the file is if it is no text
	newline   string // the line end that the file uses
	lines     []robots.Line
	all       []*view // of every dialect: safe fixes are proved in all
	views     []*view // of those that are looked at
	check     *Check  // the one that runs
	severity  Severity
	options   Options
	found     []*Diagnostic
	byLine    map[int][]*Diagnostic // found, by the line where they begin
	removes   map[*Fix]robots.Line  // the rules that fixes delete
	usesOf    []map[int]compare.Use // what uses has found out
	keys      map[rulesKey]string   // what key has found out
	perCheck  map[*Check]int
	dropped   int
	steps     int // left for proofs
	budgeted  int // for all of them
	undecided bool
}

func newPass(f *robots.File, o Options) *pass {
	p := &pass{options: o, byLine: map[int][]*Diagnostic{}, removes: map[*Fix]robots.Line{}, keys: map[rulesKey]string{}}
	p.file, p.body, p.newline, p.kind = f, f.Bytes(), newline(f.Bytes()), kind(f)
	p.perCheck, p.steps = map[*Check]int{}, cmp.Or(max(o.MaxSteps, 0), DefaultMaxSteps)
	p.budgeted = p.steps
	if p.kind != "" {
		f = robots.Parse(nil) // its lines have no meaning
	}
	p.lines = slices.Collect(f.Lines(robots.Dialect{}))
	for _, d := range robots.Dialects() {
		v := newView(f, d, len(p.lines))
		p.all = append(p.all, v)
		if slices.Contains(o.Dialects, d.Name) {
			p.views = append(p.views, v)
		}
	}
	if len(p.views) == 0 {
		p.views = p.all
	}
	return p
}

// begin sets the running check, and reports whether it is on.
func (p *pass) begin(c *Check) bool {
	p.check, p.severity = c, c.Severity
	if s, ok := p.options.Severities[c.ID]; ok {
		p.severity = s
	}
	return p.severity != Off
}

// add reports a finding of the running check on a span, in all dialects.
func (p *pass) add(at robots.Span, message string) *Diagnostic {
	d := &Diagnostic{Check: p.check, Severity: p.severity, Span: at, Message: message}
	d.Dialects = p.where(func(*view) bool { return true })
	line := p.lineOf(at.Start)
	p.byLine[line] = append(p.byLine[line], d)
	if p.perCheck[p.check]++; p.perCheck[p.check] > MaxFindings {
		p.dropped++
		return d
	}
	p.found = append(p.found, d)
	return d
}

// result returns the findings in order.
func (p *pass) result() Result {
	r := Result{Dropped: p.dropped, Undecided: p.undecided, Steps: p.budgeted - p.steps}
	for _, d := range p.found {
		if len(d.Dialects) == 0 || d.Severity == Off {
			continue
		}
		d.Line, d.Column = p.position(d.Span.Start)
		d.EndLine, d.EndColumn = p.position(d.Span.End)
		r.Diagnostics = append(r.Diagnostics, *d)
	}
	slices.SortStableFunc(r.Diagnostics, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), strings.Compare(a.Check.ID, b.Check.ID))
	})
	return r
}

// lineOf returns the number of the line of an offset.
func (p *pass) lineOf(offset int) int {
	i, _ := slices.BinarySearchFunc(p.lines, offset, func(l robots.Line, at int) int {
		return cmp.Compare(l.Span.Start, at+1)
	})
	return max(i, 1)
}

// position returns line and column of an offset, both from 1.
func (p *pass) position(offset int) (line, column int) {
	line = p.lineOf(offset)
	start := 0
	if line > 1 {
		start = p.lines[line-1].Span.Start
	}
	return line, offset - start + 1
}

// edit sets the fix of a finding.
func (d *Diagnostic) edit(edits ...Edit) { d.Fix = &Fix{Edits: edits} }

// deletes sets a fix that deletes the line of a rule.
func (p *pass) deletes(d *Diagnostic, l robots.Line) {
	d.edit(p.withoutLine(l))
	p.removes[d.Fix] = l
}

// sitemaps calls do for each Sitemap line.
func (p *pass) sitemaps(do func(l robots.Line, value string)) {
	for _, l := range p.lines {
		if l.Field == robots.FieldSitemap {
			do(l, p.text(l.Value))
		}
	}
}

func (p *pass) text(s robots.Span) string { return string(p.body[s.Start:s.End]) }

// content returns a line without its comment.
func (p *pass) content(l robots.Line) string {
	return string(p.body[l.Span.Start:l.Comment.Start])
}

// where returns the names of the dialects for which is returns true.
func (p *pass) where(is func(*view) bool) []string {
	var names []string
	for _, v := range p.views {
		if is(v) {
			names = append(names, v.dialect.Name)
		}
	}
	return names
}

// newline returns the line end of a file.
func newline(body []byte) string {
	if i := bytes.IndexByte(body, '\n'); i > 0 && body[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func isRule(f robots.Field) bool { return f == robots.FieldAllow || f == robots.FieldDisallow }

// cutBlank splits s at its first spaces; ok is set if text follows them.
func cutBlank(s string) (word, rest string, ok bool) {
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, "", false
	}
	rest = strings.Trim(s[i:], " \t")
	return s[:i], rest, rest != ""
}

func quote(s string) string { return `"` + robots.Printable(s) + `"` }

// escaped returns a byte as %XX.
func escaped(c byte) string { return fmt.Sprintf("%%%02X", c) }

// near reports whether a becomes b when at most most letters are added, dropped, changed or
// swapped with their neighbor.
func near(a, b string, most int) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if a == b || most == 0 {
		return a == b
	}
	most--
	return a != "" && near(a[1:], b, most) || b != "" && near(a, b[1:], most) ||
		a != "" && b != "" && near(a[1:], b[1:], most) ||
		len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && near(a[2:], b[2:], most)
}
