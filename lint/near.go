package lint

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
)

const (
	maxNotes = 50 // in an explanation, as in package robots
	maxNear  = 3  // near misses among them
	maxEdits = 24 // edited files that are read to check near misses
	maxValue = 2048
)

// A nearMiss is an edit of a file that changes a verdict.
type nearMiss struct {
	kind   nearKind
	weight int // of the rule that would decide
	note   robots.Note
	edit   Edit
}

// nearKind is the kind of a near miss; the likeliest mistakes come first.
type nearKind uint8

const (
	nearReplaced    nearKind = iota // a rule of a group that the crawler's own group replaces
	nearFused                       // two groups without a rule between them
	nearName                        // a name that only seems to be the crawler's
	nearField                       // a misspelled field
	nearEarly                       // a rule before the first user-agent line
	nearSyntax                      // a value that is not a path
	nearCase                        // letter case
	nearEnd                         // a final $
	nearSlash                       // a final slash
	nearRoot                        // the start of the path
	nearQuery                       // the order of parameters
	nearStar                        // a star between slashes
	nearEscape                      // percent-encoding
	nearGap                         // text between two parts
	nearSpelling                    // hyphens, plurals, extensions, one letter
	nearShort                       // a match that a longer rule overrides
	nearFragment                    // a path cut off by its #
	nearOperator                    // another crawler of the operator
	nearSection                     // a rule below a blank line
	nearUnconfirmed                 // a misspelled name without effect on the verdict
	nearPrefix                      // a rule that matches more than a directory
)

// A nearSearch looks for the near misses of one verdict.
type nearSearch struct {
	rules   *robots.Rules
	dialect robots.Dialect // without a size limit
	path    robots.Path
	lower   robots.Path // path in lower case
	verdict robots.Verdict
	matches []robots.Note
	body    []byte // that counts
	work    int    // left
	edits   int    // left
	found   []nearMiss
}

// ExplainWork limits the bytes that Explain compares for near misses, besides those of Rules.Explain.
func ExplainWork(r *robots.Rules, p robots.Path) int {
	const most = 2_000_000
	return min(most, 100_000+12*len(r.File().Bytes())+100*len(p.String()))
}

// Explain is Rules.Explain with additional notes: first at most three near misses, the likeliest
// first, then those on the lines of the file, which include rules that can never match. A near miss
// is a line that would change the verdict if it were written as its note suggests. Each suggestion
// was tried: the edited file gives another verdict on p.
func Explain(r *robots.Rules, p robots.Path) robots.Explanation {
	e := r.Explain(p)
	if _, fallback := r.FallbackReason(); fallback || e.Verdict.Reason == robots.ReasonInvalid {
		return e
	}
	near := nearMisses(r, p, &e)
	notes := slices.DeleteFunc(e.Notes, func(n robots.Note) bool {
		return slices.ContainsFunc(near, func(m robots.Note) bool { return n.Line == m.Line && n.Line > 0 && supersedes(m.Clause, n.Clause) })
	})
	for rule := range r.All() {
		pattern := rule.Pattern().String()
		if pattern == "$" || pattern == "" || pattern[0] == '/' || pattern[0] == '*' ||
			slices.ContainsFunc(near, func(m robots.Note) bool { return m.Line == rule.Line() }) {
			continue
		}
		why := " can never match, because paths start with /; write " + title(rule) + ": /" + robots.Printable(rule.Path())
		if strings.Contains(pattern, "://") {
			why = " can never match: use the path of the URL"
		}
		notes = append(notes, robots.Note{Line: rule.Line(), Clause: "D-09", Text: rule.String() + why})
	}
	slices.SortStableFunc(notes, func(a, b robots.Note) int { return a.Line - b.Line })
	e.Near = len(near)
	e.Notes = append(near, notes...)
	if extra := len(e.Notes) - maxNotes; extra > 0 {
		e.Notes = e.Notes[:maxNotes]
		e.Dropped += extra
	}
	return e
}

// supersedes reports whether a near miss with a clause states all that another note on its line
// with the other clause does.
func supersedes(near, other string) bool {
	switch other {
	case "AGENT-03", "AGENT-04", "AGENT-06", "C-10":
		return true
	}
	return near == other
}

// nearMisses returns the near misses of an explanation, the likeliest first.
func nearMisses(r *robots.Rules, p robots.Path, e *robots.Explanation) []robots.Note {
	switch e.Verdict.Reason {
	case robots.ReasonRule, robots.ReasonNoRule, robots.ReasonNoGroup, robots.ReasonEmptyFile:
	default:
		return nil
	}
	d := r.Dialect()
	s := &nearSearch{
		rules: r, dialect: d, path: p, verdict: e.Verdict, matches: e.Matches, body: r.File().Bytes(), work: ExplainWork(r, p), edits: maxEdits,
	}
	s.dialect.MaxFileBytes = 0
	if d.MaxFileBytes > 0 && len(s.body) > d.MaxFileBytes {
		if d.OverSizeOpens {
			return nil
		}
		s.body = s.body[:1+bytes.LastIndexAny(s.body[:d.MaxFileBytes], "\r\n")]
	}
	s.lower = s.pathOf(strings.ToLower(p.String()))
	s.groups()
	s.names()
	s.fields()
	s.ownRules()
	s.precedence()
	s.winner()
	slices.SortStableFunc(s.found, func(a, b nearMiss) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), b.weight-a.weight, a.note.Line-b.note.Line)
	})
	var notes []robots.Note
	for _, m := range s.found {
		if slices.ContainsFunc(notes, func(n robots.Note) bool { return n.Line == m.note.Line }) {
			continue
		}
		if len(notes) == maxNear {
			break
		}
		if m.kind == nearUnconfirmed || s.changes(m.edit) {
			m.note.Text = robots.Printable(m.note.Text)
			notes = append(notes, m.note)
		}
	}
	return notes
}

// add adds a near miss, which is confirmed later.
func (s *nearSearch) add(kind nearKind, weight, line int, clause, text string, edit Edit) {
	s.found = append(s.found, nearMiss{kind: kind, weight: weight, note: robots.Note{Line: line, Clause: clause, Text: text}, edit: edit})
}

// spend takes work before it is done. It returns false if not as much is left.
func (s *nearSearch) spend(work int) bool {
	s.work -= work
	return s.work >= 0
}

// changes reports whether the edited file gives the other verdict.
func (s *nearSearch) changes(edit Edit) bool {
	s.edits--
	if s.edits < 0 || !s.spend(len(s.body)+2*len(s.path.String())) {
		return false
	}
	body := slices.Concat(s.body[:edit.Start], []byte(edit.Text), s.body[edit.End:])
	v := robots.Parse(body).Rules(s.dialect, s.rules.Tokens()...).Match(s.path)
	return v.Allowed != s.verdict.Allowed
}

// directive returns the title of the rules that would change the verdict.
func (s *nearSearch) directive() string {
	if s.verdict.Allowed {
		return "Disallow"
	}
	return "Allow"
}

// title returns the directive of a rule as a file writes it.
func title(r robots.Rule) string {
	if r.Directive() == "allow" {
		return "Allow"
	}
	return "Disallow"
}

// pathOf returns a path in the dialect.
func (s *nearSearch) pathOf(text string) robots.Path {
	if s.dialect.Escapes == robots.EscapesRaw || text == "" || text[0] != '/' {
		return robots.RawPath(text)
	}
	_, path, err := robots.ParseURL("http://host.example" + text)
	if err != nil {
		return robots.RawPath(text)
	}
	return path
}

// ruleMatches reports whether a rule with a value, exactly as written, matches a path.
func (s *nearSearch) ruleMatches(value string, p robots.Path) bool {
	if value == "" || len(value) > maxValue || strings.ContainsAny(value, "\r\n\x00") || !s.spend(200+len(value)+2*len(p.String())) {
		return false
	}
	v := robots.Parse([]byte("User-agent: *\nDisallow: " + value + "\n")).Rules(s.dialect).Match(p)
	return v.Reason == robots.ReasonRule && v.Rule.Path() == value
}

// lineStart returns where the line of an offset begins.
func (s *nearSearch) lineStart(offset int) int {
	return 1 + bytes.LastIndexAny(s.body[:offset], "\r\n")
}

// lineEnd returns where the line after that of an offset begins.
func (s *nearSearch) lineEnd(offset int) int {
	if i := bytes.IndexAny(s.body[offset:], "\r\n"); i >= 0 {
		end := offset + i
		if s.body[end] == '\r' && end+1 < len(s.body) && s.body[end+1] == '\n' {
			end++
		}
		return end + 1
	}
	return len(s.body)
}

// insertBelow returns the edit that inserts a line below that of an offset.
func (s *nearSearch) insertBelow(offset int, line string) Edit {
	at := s.lineEnd(offset)
	if at == len(s.body) {
		line = "\n" + line
	}
	return Edit{at, at, line + "\n"}
}

func lineWord(number int) string { return "line " + strconv.Itoa(number) }
