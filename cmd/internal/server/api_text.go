package server

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/robotskit/robots"
	answers "github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
)

// Operations on text in the request, which is neither stored nor logged.

// A Text is a robots.txt in a request.
type Text struct {
	Robots    *string `json:"robots,omitempty"`
	RobotsB64 *string `json:"robots_b64,omitempty"`
}

// file returns the file.
func (r *request) file(t Text) *robots.File {
	switch {
	case t.Robots != nil && t.RobotsB64 != nil:
		r.fail(wrong(BadParameter, "body.robots_b64", "", "excludes robots: send only one of them"))
	case t.RobotsB64 != nil:
		body, err := base64.StdEncoding.DecodeString(*t.RobotsB64)
		if err != nil {
			r.fail(wrong(BadParameter, "body.robots_b64", "", "must be base64, padded: "+err.Error()))
		}
		return robots.Parse(body)
	case t.Robots != nil:
		return robots.Parse([]byte(*t.Robots))
	}
	r.fail(wrong(BadParameter, "body", "", "must have the member robots or robots_b64, the file"))
	return nil
}

// An Explanation is a verdict with the steps that led to it.
type Explanation struct {
	Answer json.RawMessage `json:"answer"`
	answers.Derivation
}

// explain answers POST /v1/explain.
func (s *Service) explain(r *request) *answer {
	var in struct {
		Text    `json:",inline"`
		URL     *string `json:"url"`
		Agent   Agents  `json:"agent"`
		Dialect string  `json:"dialect"`
	}
	r.decode(&in)
	url := r.url("body.url", in.URL)
	crawler := r.crawler("body.", in.Dialect, in.Agent)
	file := r.file(in.Text)
	if r.problem == nil {
		r.work(budget.Reading(len(file.Bytes())))
	}
	_, path, err := ask.URL(crawler.Dialect, url, false)
	if err != nil {
		r.fail(invalid(BadURL, "body.url", url, err))
	}
	if r.problem != nil {
		return nil
	}
	rules := file.Rules(crawler.Dialect, crawler.Tokens...)
	e := lint.Explain(rules, path)
	said := append(e.Verdict.AppendDecisionJSON([]byte{'{'}), ',')
	said = append(rules.AppendLimitedJSON(said, answerLimits), `,"url":`...)
	said = append(robots.AppendQuoted(said, url), ',')
	j := &Explanation{
		Answer: append(crawler.AppendJSON(append(appendAgent(said, in.Agent), ','), rules), '}'), Derivation: answers.NewDerivation(&e),
	}
	return answerWith(j)
}

// Findings are the mistakes in a file.
type Findings struct {
	Findings  []Finding `json:"findings"`
	Undecided bool      `json:"undecided"`
	Dropped   int       `json:"dropped"`
}

// A Finding is a mistake.
type Finding struct {
	Line      int          `json:"line"`
	Column    int          `json:"column"`
	EndLine   int          `json:"end_line"`
	EndColumn int          `json:"end_column"`
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Severity  string       `json:"severity"`
	Message   string       `json:"message"`
	Advice    string       `json:"advice"`
	Dialects  []string     `json:"dialects"`
	Fix       *answers.Fix `json:"fix"`
}

// lint answers POST /v1/lint.
func (s *Service) lint(r *request) *answer {
	var in struct {
		Text     `json:",inline"`
		Dialects []string `json:"dialects"`
	}
	r.decode(&in)
	r.fail(tooMany("body.dialects", len(in.Dialects), mostDialects))
	for i, name := range in.Dialects {
		if _, err := ask.Dialect(name); err != nil {
			r.fail(invalid(BadParameter, fmt.Sprintf("body.dialects[%d]", i), name, err))
		}
	}
	file := r.file(in.Text)
	if r.problem != nil {
		return nil
	}
	found := lint.File(file, lint.Options{Dialects: in.Dialects, MaxSteps: r.exchange.budget.Left(lintSteps)})
	r.work(found.Steps)
	j := &Findings{Findings: []Finding{}, Undecided: found.Undecided, Dropped: found.Dropped}
	for i := range found.Diagnostics {
		d := &found.Diagnostics[i]
		if r.holdText(len(d.Message) + len(d.Advice) + sizeOfFix(d.Fix)); r.problem != nil {
			return nil
		}
		j.Findings = append(j.Findings, Finding{
			d.Line, d.Column, d.EndLine, d.EndColumn, d.Check.ID, d.Check.Name, d.Severity.String(), d.Message, d.Advice,
			append([]string{}, d.Dialects...), answers.NewFix(d.Fix),
		})
	}
	return answerWith(j)
}

// A Diff is the comparison of two files.
type Diff struct {
	Dialect  string        `json:"dialect"`
	Same     bool          `json:"same"`
	Crawlers []CrawlerDiff `json:"crawlers"`
}

// A CrawlerDiff is the comparison for one crawler.
type CrawlerDiff struct {
	Agent        string        `json:"agent"`
	Dialect      string        `json:"dialect"`
	Result       string        `json:"result"`
	NewlyBlocked []ChangeOfURL `json:"newly_blocked"`
	NewlyAllowed []ChangeOfURL `json:"newly_allowed"`
	Complete     bool          `json:"complete"`
}

// A ChangeOfURL is a URL with another verdict.
type ChangeOfURL struct {
	Path     string        `json:"path"`
	Shortest bool          `json:"shortest"`
	Old      *answers.Rule `json:"old"`
	New      *answers.Rule `json:"new"`
}

// Limits of a request: crawlers, dialects, and steps of all proofs together, of about twenty
// nanoseconds each. Lint also reads a file in each dialect, and has fewer.
const (
	mostCrawlers = 1000
	mostNamed    = 100 // crawlers in the request
	mostDialects = 20
	diffSteps    = 20 * compare.DefaultSteps
	lintSteps    = lint.DefaultMaxSteps / 2
)

// diff answers POST /v1/diff.
func (s *Service) diff(r *request) *answer {
	var in struct {
		Old     *string  `json:"old"`
		New     *string  `json:"new"`
		Agent   []string `json:"agent"`
		Dialect string   `json:"dialect"`
	}
	r.decode(&in)
	switch {
	case in.Old == nil:
		r.fail(wrong(BadParameter, "body.old", "", isMissing))
	case in.New == nil:
		r.fail(wrong(BadParameter, "body.new", "", isMissing))
	}
	r.fail(tooMany("body.agent", len(in.Agent), mostNamed))
	d := r.crawler("body.", in.Dialect, nil).Dialect
	if r.problem != nil {
		return nil
	}
	old, changed := robots.Parse([]byte(*in.Old)), robots.Parse([]byte(*in.New))
	names := in.Agent
	var together robots.Crawlers
	switch {
	case len(names) > 0:
		for i := range names {
			tokens := names[i : i+1]
			c := r.crawler("body.", in.Dialect, tokens)
			together.Add(c.Dialect, c.Tokens...)
		}
	case cmp.Or(in.Dialect, s.parts.Dialect) == ask.AutoDialect:
		for _, c := range compare.Crawlers(old, changed) {
			names = append(names, c.Name)
			together.Add(c.ReadAs(), c.Tokens...)
		}
	default:
		for _, name := range compare.Names(old.Rules(d), changed.Rules(d)) {
			names = append(names, name)
			together.Add(d, name)
		}
	}
	if len(names) > mostCrawlers {
		r.fail(NewProblem(TooMany, fmt.Sprintf("the files name %d crawlers, but at most %d are compared: select some with agent", len(names)-1, mostCrawlers)))
	}
	if r.problem != nil {
		return nil
	}
	before, after := together.Rules(old), together.Rules(changed)
	j := &Diff{Dialect: cmp.Or(in.Dialect, s.parts.Dialect), Same: true, Crawlers: []CrawlerDiff{}}
	proofs := newDiffer(diffSteps)
	for i, name := range names {
		result := proofs.compare(before[i], after[i])
		if r.holdText(len(name) + sizeOfChanges(result.NewlyBlocked) + sizeOfChanges(result.NewlyAllowed)); r.problem != nil {
			return nil
		}
		j.Same = j.Same && result.Same()
		j.Crawlers = append(j.Crawlers, CrawlerDiff{
			Agent: name, Dialect: before[i].Dialect().Name, Result: result.String(), NewlyBlocked: changesOf(result.NewlyBlocked), NewlyAllowed: changesOf(result.NewlyAllowed),
			Complete: result.NewlyBlocked.Complete && result.NewlyAllowed.Complete,
		})
	}
	return answerWith(j)
}

// A differ compares the rules of one crawler after another; their proofs share steps. When
// these are used up, only equal rules, which need no proof, are decided. Reading rules takes
// steps too, half a step per rule, and after twice the steps all further crawlers are
// undecided.
type differ struct {
	steps, used int
	known       map[[2][sha256.Size]byte]compare.Result // crawlers in the same groups have the same rules
}

func newDiffer(steps int) *differ {
	return &differ{steps: steps, known: map[[2][sha256.Size]byte]compare.Result{}}
}

func (d *differ) compare(before, after *robots.Rules) compare.Result {
	if d.used >= 2*d.steps {
		return compare.Result{} // undecided
	}
	d.used += (before.Len() + after.Len()) / 2
	key := [2][sha256.Size]byte{placesOf(before), placesOf(after)}
	r, ok := d.known[key]
	if !ok {
		// At least 1, as 0 means the default.
		r = compare.Rules(before, after, compare.Options{Steps: max(min(d.steps-d.used, compare.DefaultSteps), 1)})
		d.used += r.NewlyBlocked.Steps + r.NewlyAllowed.Steps
		d.known[key] = r
	}
	return r
}

// placesOf returns a hash of the positions of rules in their file.
func placesOf(r *robots.Rules) [sha256.Size]byte {
	var places []byte
	for rule := range r.All() {
		places = binary.LittleEndian.AppendUint32(places, uint32(rule.Span().Start))
	}
	return sha256.Sum256(places)
}

// work takes steps of the budget.
func (r *request) work(steps int) {
	if err := r.exchange.budget.Work(steps); err != nil {
		r.fail(OverBudget(err))
	}
}

// holdText takes the bytes for an entry of an answer with text of some bytes. A byte of text can take
// eight in JSON, which is written once and copied once.
func (r *request) holdText(n int) {
	const entry = 1 << 10
	if err := r.exchange.budget.Hold(entry + 2*n); err != nil {
		r.fail(OverBudget(err))
	}
}

func sizeOfFix(f *lint.Fix) (n int) {
	if f != nil {
		n = len(f.Change)
		for _, e := range f.Edits {
			n += len(e.Text)
		}
	}
	return n
}

func sizeOfChanges(d compare.Direction) (n int) {
	for _, c := range d.Changes {
		n += len(c.Path) + len(c.Old.Rule.Path()) + len(c.New.Rule.Path())
	}
	return n
}

func changesOf(d compare.Direction) []ChangeOfURL {
	list := []ChangeOfURL{}
	for _, c := range d.Changes {
		list = append(list, ChangeOfURL{Path: c.Path, Shortest: c.Shortest, Old: answers.NewRule(c.Old.Rule), New: answers.NewRule(c.New.Rule)})
	}
	return list
}
