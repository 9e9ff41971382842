package answer

import (
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/lint"
)

// An Explanation is a verdict with the steps that led to it.
type Explanation struct {
	Check
	Derivation
	Signals []Signal `json:"signals"` // those that apply to the URL
	// SignalsDropped is the number of signals beyond a limit of the API, absent if there are none.
	SignalsDropped int `json:"signals_dropped,omitempty"`

	Decision robots.Verdict `json:"-"` // of which Check has the members
}

// A Derivation is how a verdict is reached.
type Derivation struct {
	Summary string      `json:"summary"` // one sentence: the deciding rule, or the reason without a rule
	Path    string      `json:"path"`    // as given
	Normal  string      `json:"normal"`  // as the dialect compares it
	Steps   []Step      `json:"steps"`   // that lead to the verdict, in order
	Matches []RuleMatch `json:"matches"` // every rule that matches, the winner first
	// MatchesDropped is the number of matches beyond a limit of the API, absent if there are none.
	MatchesDropped int `json:"matches_dropped,omitempty"`
	// At most three near misses, the likeliest first, then lines without the effect that they seem to have.
	Notes   []Note `json:"notes"`
	Dropped int    `json:"dropped"` // notes beyond the limit

	Near int `json:"-"` // number of near misses, with which Notes begins
}

// A Step is a step towards a verdict, with the clause behind it.
type Step struct {
	Clause string `json:"clause"` // of [clauses.md](clauses.md)
	Text   string `json:"text"`   // a sentence
}

// A RuleMatch is a rule that matches.
type RuleMatch struct {
	Rule
	Bytes  int    `json:"bytes"`  // that count for precedence
	Won    bool   `json:"won"`    // the rule decides
	Clause string `json:"clause"` // of [clauses.md](clauses.md)
	Why    string `json:"why"`    // it won or lost
}

// A Note is about a line, or about the whole file if the line is 0.
type Note struct {
	Line   int    `json:"line"`   // from 1, 0 for the whole file
	Clause string `json:"clause"` // of [clauses.md](clauses.md)
	Text   string `json:"text"`   // a sentence
}

// ExplainLimits limit the lists of an explanation. The zero value is no limit.
type ExplainLimits struct {
	Check   robots.JSONLimits
	Matches int
	Signals int
}

// Explain returns the verdict on a path of rules for a crawler, with the steps that led to it. The URL and the
// agent are as given.
func Explain(r *robots.Rules, c *Crawler, path robots.Path, url string, agent any, limits ExplainLimits) Explanation {
	e := lint.Explain(r, path)
	x := Explanation{
		Check:      NewCheck(r, c, path, url, agent, limits.Check),
		Derivation: NewDerivation(&e, limits.Matches),
		Signals:    signalsOf(r, &path),
		Decision:   e.Verdict,
	}
	x.Notes = append(x.Notes, FolderNote(path)...)
	x.Signals, x.SignalsDropped = limited(x.Signals, limits.Signals)
	return x
}

// FolderNote returns a note if a URL is that of a robots.txt in a folder.
func FolderNote(path robots.Path) []Note {
	file, _, _ := strings.Cut(path.String(), "?")
	if file == "/robots.txt" || !strings.HasSuffix(file, "/robots.txt") {
		return nil
	}
	return []Note{{
		Clause: "SCOPE-09",
		Text:   "a robots.txt in a folder does not count: crawlers read only /robots.txt of the host, and fetch this one like any page",
	}}
}

// A MatchCost limits the work of a match by rules. The zero value is that of no rules.
type MatchCost struct{ patterns, stars int } // bytes of all patterns, and patterns with a star

// NewMatchCost returns the cost of rules.
func NewMatchCost(r *robots.Rules) (c MatchCost) {
	for rule := range r.All() {
		c.patterns += len(rule.Path())
		if strings.Contains(rule.Path(), "*") {
			c.stars++
		}
	}
	return c
}

// Steps returns the most steps of a match of a path, as a budget counts them.
func (c MatchCost) Steps(path robots.Path) int {
	return budget.Matching(c.patterns + (c.stars+1)*len(path.String()))
}

// ExplainCost returns the most that Explain takes, besides reading the file: steps, and bytes of the matches
// and notes.
func ExplainCost(r *robots.Rules, path robots.Path) (steps, bytes int) {
	const notes = 4 // that repeat the path
	c := NewMatchCost(r)
	steps = 2*c.Steps(path) + budget.Matching(lint.ExplainWork(r, path))
	bytes = bytesOfMatch*r.Len() + textInJSON*(c.patterns+notes*len(path.String()))
	return steps, bytes
}

// bytesOfMatch is about what a match takes besides its pattern.
const bytesOfMatch = 256

// textInJSON is the most bytes that a byte of text takes: escaped, and again in base64.
const textInJSON = 8

// NewDerivation returns the derivation in an explanation, with at most some matches, or all for 0.
func NewDerivation(e *robots.Explanation, matches int) Derivation {
	d := Derivation{
		Summary: Reason(e.Verdict), Path: e.Path, Normal: e.Normal, Steps: []Step{}, Matches: []RuleMatch{}, Notes: NewNotes(e.Notes),
		Dropped: e.Dropped, Near: e.Near,
	}
	for _, s := range e.Steps {
		d.Steps = append(d.Steps, Step{Clause: s.Clause, Text: s.Text})
	}
	shown, dropped := limited(e.Matches, matches)
	d.MatchesDropped = dropped
	for _, m := range shown {
		match := RuleMatch{Rule: *NewRule(m.Rule), Bytes: m.Rule.Weight(), Won: m.Rule == e.Verdict.Rule, Clause: m.Clause, Why: m.Text}
		d.Matches = append(d.Matches, match)
	}
	return d
}

// limited returns the first entries of a list, all for 0, and the number of the others.
func limited[T any](list []T, most int) (shown []T, dropped int) {
	if most == 0 || len(list) <= most {
		return list, 0
	}
	return list[:most], len(list) - most
}

// NewNotes returns notes, not nil.
func NewNotes(notes []robots.Note) []Note {
	all := []Note{}
	for _, n := range notes {
		all = append(all, Note{Line: n.Line, Clause: n.Clause, Text: n.Text})
	}
	return all
}
