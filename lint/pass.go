package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// A pass is one run over one file. Its memory is in proportion to the file, and the findings of
// each check are limited.
type pass struct {
	file        *robots.File
	base        *pass        // the pass of the file that this one was edited from, nil if it was not
	text        *robots.File // file, or an empty one if the file is no text: its lines have no meaning
	body        []byte
	kind        string      // what the file is if it is no text
	newline     string      // the line end that the file uses
	lineStarts  []uint32    // of all lines
	texts       int         // number of lines that are not blank
	fields      []fieldLine // the lines that have a field in the zero dialect
	lastEdited  *pass       // the last one that was edited from this one
	lastEdits   []Edit      // its edits
	sets        *nameSets   // of its user-agent lines
	allViews    []*view     // of every dialect: safe fixes are proved in all
	views       []*view     // of those that are looked at
	check       *Check      // the one that runs
	severity    Severity
	severities  []Severity // of Checks
	options     Options
	found       []*Diagnostic
	byLine      map[int][]*Diagnostic        // found, by the line where they begin
	dropping    Diagnostic                   // the last finding beyond MaxFindings
	reported    []uint64                     // a bit for each line with a dropped finding of a line, field or path
	removes     map[*Fix]robots.Line         // the rules that fixes delete
	usesOf      []ruleUses                   // what uses has found out
	keys        map[*robots.Rules]rulesText  // what key has found out
	scratch     []byte                       // memory of key
	comparisons map[[2]rulesText]comparison  // what sameRules has found out
	changes     map[[2]rulesText]firstChange // what firstChange has found out
	unchanged   map[*robots.Rules][]int      // what rulesOfToken has found out
	tokenRules  []tokenRule                  // of all tokens in all files that were compared
	ruleIndexes map[tokenRule]int            // in tokenRules
	examples    []example                    // of verdicts that fixes changed
	doubles     *doubles                     // what duplicates has found out
	written     map[string]bool              // paths of all rules, made on demand
	intended    map[string]string            // what intendedField has found out
	inUnions    map[*Diagnostic]bool         // whose fixes are not safe only for crawlers of several tokens
	perCheck    map[*Check]int
	dropped     int
	misreadLine int // the last line of misreading
	misreadAs   misread
	steps       int // left for proofs
	budgeted    int // for all of them
	undecided   bool
}

// A fieldLine is a robots.Line in a third of its memory.
type fieldLine struct {
	number, start, end, name, nameEnd, value, valueEnd, comment uint32
	field                                                       robots.Field
}

func (l *fieldLine) line() robots.Line {
	span := func(start, end uint32) robots.Span { return robots.Span{Start: int(start), End: int(end)} }
	return robots.Line{
		Number: int(l.number), Field: l.field, Span: span(l.start, l.end), Name: span(l.name, l.nameEnd), Value: span(l.value, l.valueEnd),
		Comment: span(l.comment, l.end), Group: -1,
	}
}

func newPass(f *robots.File, o Options) *pass {
	p := readPass(f)
	p.options = o
	p.byLine = map[int][]*Diagnostic{}
	p.removes = map[*Fix]robots.Line{}
	p.perCheck = map[*Check]int{}
	p.intended = map[string]string{}
	p.steps = cmp.Or(max(o.MaxSteps, 0), DefaultMaxSteps)
	p.budgeted = p.steps
	p.steps -= p.readingSteps() + p.checkSteps()
	for i := range Checks {
		p.begin(&Checks[i])
		p.severities = append(p.severities, p.severity)
	}
	for _, d := range robots.Dialects() {
		read := p.hasView(d)
		v := p.view(d)
		if !read {
			p.steps -= p.viewSteps(v)
		}
		if slices.Contains(o.Dialects, d.Name) {
			p.views = append(p.views, v)
		}
	}
	if len(p.views) == 0 {
		p.views = p.allViews
	}
	return p
}

// readPass returns a pass that has read the lines of a file, without views.
func readPass(f *robots.File) *pass {
	p := &pass{
		file: f, text: f, body: f.Bytes(), kind: Kind(f), newline: newline(f.Bytes()), keys: map[*robots.Rules]rulesText{},
		comparisons: map[[2]rulesText]comparison{}, changes: map[[2]rulesText]firstChange{}, unchanged: map[*robots.Rules][]int{},
		ruleIndexes: map[tokenRule]int{}, sets: &nameSets{indexes: map[string]int32{}},
	}
	if isPage := p.kind == "HTML or XML" && !bytes.HasPrefix(p.body, []byte("<%")) && !bytes.HasPrefix(p.body, []byte("<?")); !isPage &&
		templateLine(p.body) > 0 {
		p.kind = "template"
	}
	if p.kind != "" {
		p.text = robots.Parse(nil)
	}
	body := p.text.Bytes()
	lines := 1 + bytes.Count(body, []byte{'\n'}) + bytes.Count(body, []byte{'\r'})
	p.lineStarts = make([]uint32, 0, lines)
	p.fields = make([]fieldLine, 0, min(lines, bytes.Count(body, []byte{':'})))
	for l := range p.text.Lines(robots.Dialect{}) {
		p.lineStarts = append(p.lineStarts, uint32(l.Span.Start))
		if l.Span.Start < l.Span.End {
			p.texts++
		}
		if l.Field > robots.FieldUnknown {
			p.fields = append(p.fields, fieldLine{
				uint32(l.Number), uint32(l.Span.Start), uint32(l.Span.End), uint32(l.Name.Start), uint32(l.Name.End),
				uint32(l.Value.Start), uint32(l.Value.End), uint32(l.Comment.Start), l.Field,
			})
		}
	}
	return p
}

// edited returns a pass that has read the lines of the file after some edits: the last one if the edits are the same.
func (p *pass) edited(edits []Edit) *pass {
	if p.lastEdited != nil && slices.Equal(p.lastEdits, edits) {
		return p.lastEdited
	}
	other := readPass(robots.Parse(Apply(p.body, edits)))
	other.base = p
	other.sets = p.sets
	other.scratch = p.scratch
	p.lastEdits = edits
	p.lastEdited = other
	return other
}

// view returns the file as a dialect reads it.
func (p *pass) view(d robots.Dialect) *view {
	i := slices.IndexFunc(p.allViews, func(v *view) bool { return v.dialect.Name == d.Name })
	if i < 0 {
		i = len(p.allViews)
		p.allViews = append(p.allViews, newView(p.text, d, len(p.fields), p.sets, p.allViews))
	}
	return p.allViews[i]
}

// hasView reports whether there is a view of the file as a dialect reads it.
func (p *pass) hasView(d robots.Dialect) bool {
	return slices.ContainsFunc(p.allViews, func(v *view) bool { return alike(v.dialect) == alike(d) })
}

// viewSteps is the cost of a view, in steps.
func (p *pass) viewSteps(v *view) int { return p.readingSteps() + stepsOfName*len(v.names) }

// viewOf returns a view of an edited file for the dialect of a view of this one, and false if the steps do not
// suffice.
func (p *pass) viewOf(other *pass, v *view) (w *view, ok bool) {
	if !other.hasView(v.dialect) && !p.spend(p.viewSteps(v)) {
		return nil, false
	}
	return other.view(v.dialect), true
}

// stepsOfName is the cost of sorting the name of a crawler, or of looking it up, in steps.
const stepsOfName = 16

// readingSteps is the cost of reading the file once, in steps: some for each line, and more for those with a
// field.
func (p *pass) readingSteps() int { return len(p.body)/8 + 2*len(p.lineStarts) + 16*len(p.fields) }

// checkSteps is the cost of the checks of lines, in steps.
func (p *pass) checkSteps() int { return 16 * p.texts }

// lines yields the lines that have a field in the zero dialect.
func (p *pass) lines() iter.Seq[robots.Line] {
	return func(yield func(robots.Line) bool) {
		for i := range p.fields {
			if !yield(p.fields[i].line()) {
				return
			}
		}
	}
}

// line returns the line with a field that has a number.
func (p *pass) line(number int) robots.Line {
	i, _ := slices.BinarySearchFunc(p.fields, uint32(number), func(l fieldLine, number uint32) int { return cmp.Compare(l.number, number) })
	return p.fields[i].line()
}

// lineIn returns the line with a number as a dialect reads it. It might have a field that it does
// not have in the zero dialect, such as a misspelled one.
func (p *pass) lineIn(v *view, number int) robots.Line {
	at := p.lineSpan(number)
	for l := range robots.Parse(p.body[at.Start:at.End]).Lines(v.dialect) {
		for _, s := range []*robots.Span{&l.Span, &l.Name, &l.Value, &l.Comment} {
			s.Start += at.Start
			s.End += at.Start
		}
		l.Number = number
		return l
	}
	return robots.Line{Number: number, Span: at}
}

// lineSpan returns the position of the line with a number, without its end.
func (p *pass) lineSpan(number int) robots.Span {
	at := robots.Span{Start: int(p.lineStarts[number-1]), End: len(p.body)}
	if n := bytes.IndexAny(p.body[at.Start:], "\r\n"); n >= 0 {
		at.End = at.Start + n
	}
	return at
}

// begin sets the running check, and reports whether it is on.
func (p *pass) begin(c *Check) bool {
	p.check = c
	p.severity = c.Severity
	if s, ok := p.options.Severities[c.ID]; ok {
		p.severity = s
	}
	return p.severity != Off
}

// add reports a finding of the running check on a span, in all dialects. A finding beyond
// MaxFindings is only counted.
func (p *pass) add(at robots.Span, message string) *Diagnostic {
	p.perCheck[p.check]++
	if p.perCheck[p.check] > MaxFindings {
		p.dropped++
		p.dropping = Diagnostic{}
		if isReport(p.check) && at.Start < at.End {
			if p.reported == nil {
				p.reported = make([]uint64, 1+len(p.lineStarts)/64)
			}
			line := p.lineOf(at.Start)
			p.reported[line/64] |= 1 << (line % 64)
		}
		return &p.dropping
	}
	d := &Diagnostic{Check: p.check, Severity: p.severity, Span: at, Message: message}
	d.Dialects = p.where(d, func(*view) bool { return true })
	line := p.lineOf(at.Start)
	p.byLine[line] = append(p.byLine[line], d)
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
	i, _ := slices.BinarySearch(p.lineStarts, uint32(offset)+1)
	return max(i, 1)
}

// position returns line and column of an offset, both from 1.
func (p *pass) position(offset int) (line, column int) {
	line = p.lineOf(offset)
	start := 0
	if line > 1 {
		start = int(p.lineStarts[line-1])
	}
	return line, offset - start + 1
}

// edit sets the fix of a finding, unless it is dropped.
func (d *Diagnostic) edit(edits ...Edit) {
	if d.Check != nil {
		d.Fix = &Fix{Edits: slices.Clone(edits)} // the argument stays on the stack
	}
}

// deletes sets a fix that deletes the line of a rule.
func (p *pass) deletes(d *Diagnostic, l robots.Line) {
	d.edit(p.withoutLine(l))
	if d != &p.dropping {
		p.removes[d.Fix] = l
	}
}

// sitemaps calls do for each Sitemap line.
func (p *pass) sitemaps(do func(l robots.Line, value string)) {
	for l := range p.lines() {
		if l.Field == robots.FieldSitemap {
			do(l, p.textOf(l.Value))
		}
	}
}

func (p *pass) textOf(s robots.Span) string { return p.file.Text(s) }

// content returns a line without its comment.
func (p *pass) content(l robots.Line) string {
	return p.file.Text(robots.Span{Start: l.Span.Start, End: l.Comment.Start})
}

// where returns the names of the dialects for which is returns true, none for a finding that is
// dropped. The finding is nil before it is added.
func (p *pass) where(d *Diagnostic, is func(*view) bool) []string {
	if d == &p.dropping {
		return nil
	}
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
		a = a[1:]
		b = b[1:]
	}
	if a == b || most == 0 {
		return a == b
	}
	most--
	return a != "" && near(a[1:], b, most) || b != "" && near(a, b[1:], most) ||
		a != "" && b != "" && near(a[1:], b[1:], most) ||
		len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && near(a[2:], b[2:], most)
}
