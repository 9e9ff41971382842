package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/shapes"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
)

// Questions about text that is sent with them. It is neither kept nor logged.

// A Text is a robots.txt in a question.
type Text struct {
	Robots    *string `json:"robots,omitempty" doc:"the robots.txt as text" example:"User-agent: *\nDisallow: /basket\n"`
	RobotsB64 *string `json:"robots_b64,omitempty" doc:"the robots.txt as padded base64, if it is not UTF-8"`
}

// bytes returns the file of a question.
func (t Text) bytes() ([]byte, *Problem) {
	switch {
	case t.Robots != nil && t.RobotsB64 != nil:
		return nil, wrong(BadParameter, "body.robots_b64", "", "is there beside robots: give one of them")
	case t.RobotsB64 != nil:
		body, err := base64.StdEncoding.DecodeString(*t.RobotsB64)
		if err != nil {
			return nil, wrong(BadParameter, "body.robots_b64", "", "must be base64, padded: "+err.Error())
		}
		return body, nil
	case t.Robots != nil:
		return []byte(*t.Robots), nil
	}
	return nil, wrong(BadParameter, "body", "", "must have the member robots, the text of the file, or robots_b64")
}

type explainInput struct {
	Body struct {
		Text
		URL     string `json:"url" maxLength:"8192" doc:"an absolute URL, or a path that begins with /" example:"https://shop.example/basket"`
		Agent   Agents `json:"agent,omitempty"`
		Dialect string `json:"dialect,omitempty" doc:"dialect of the rules"`
	}
}

type lintInput struct {
	Body struct {
		Text
		Dialects []string `json:"dialects,omitempty" maxItems:"20" doc:"dialects to check, default all"`
	}
}

type diffInput struct {
	Body struct {
		Old     string   `json:"old" doc:"a robots.txt as text" example:"User-agent: *\nDisallow: /basket\n"`
		New     string   `json:"new" doc:"the new robots.txt" example:"User-agent: *\nDisallow: /\n"`
		Agent   []string `json:"agent,omitempty" maxItems:"100" doc:"crawlers to compare, by product token; default * and every crawler that a file names"`
		Dialect string   `json:"dialect,omitempty" doc:"dialect of both files"`
	}
}

func (s *Service) registerText() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "explain", Method: http.MethodPost, Path: "/v1/explain",
		Summary:     "Explain a verdict",
		Description: "For text in the request, which is neither stored nor logged.",
	}, map[string]*huma.Schema{typeJSON: s.schema(Explanation{})}), s.explain)

	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "lint", Method: http.MethodPost, Path: "/v1/lint",
		Summary:     "Find mistakes in a robots.txt",
		Description: "For text in the request, which is neither stored nor logged. The checks are those of docs/lint.md.",
	}, map[string]*huma.Schema{typeJSON: s.schema(Findings{})}), s.lint)

	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "diff", Method: http.MethodPost, Path: "/v1/diff",
		Summary: "Compare two versions of a robots.txt",
		Description: "Over all URLs: access is proved to be the same, or a shortest URL shows the change. All crawlers of a request share the steps of " +
			"the proofs; crawlers that come after the last step are undecided. The text is neither stored nor logged.",
	}, map[string]*huma.Schema{typeJSON: s.schema(Diff{})}), s.diff)
}

// An Explanation is how a verdict came to be: the members of Check, and the steps.
type Explanation struct {
	_      struct{}  `additionalProperties:"true"`
	Answer verdictOf `json:"answer" doc:"the answer of POST /v1/check"`
	shapes.Derivation
	Dropped int `json:"dropped" doc:"number of further notes"`
}

// verdictOf is an answer that is written already.
type verdictOf []byte

// Schema is that of a Check.
func (verdictOf) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[Check](), true, "")
}

// MarshalJSON returns what is written.
func (v verdictOf) MarshalJSON() ([]byte, error) { return v, nil }

// mayAsk says whether a caller may ask about text.
func mayAsk(ctx context.Context) *Problem {
	if !CallerOf(ctx).May(ScopeCheck) {
		return NewProblem(Unauthorized, "a token with the scope check is needed")
	}
	return nil
}

func (s *Service) explain(ctx context.Context, in *explainInput) (*answer, error) {
	p := mayAsk(ctx)
	var d robots.Dialect
	if p == nil {
		d, p = s.dialectOf(in.Body.Dialect, "body.dialect")
	}
	if p == nil {
		p = checkAgents(in.Body.Agent, d, "body.agent")
	}
	var body []byte
	if p == nil {
		body, p = in.Body.bytes()
	}
	if p != nil {
		return nil, p
	}
	_, path, err := ask.URL(d, in.Body.URL, false)
	if err != nil {
		return nil, NewProblem(BadURL, err.Error(), FieldError{Location: "body.url", Message: err.Error(), Value: shortValue(in.Body.URL)})
	}
	rules := robots.Parse(body).Rules(d, in.Body.Agent...)
	e := lint.Explain(rules, path)
	said := append(e.Verdict.AppendDecisionJSON([]byte{'{'}), ',')
	said = append(rules.AppendCommonJSON(said), `,"url":`...)
	said = append(robots.AppendQuoted(said, in.Body.URL), ',')
	j := &Explanation{
		Answer: append(appendAgent(said, in.Body.Agent), '}'), Derivation: shapes.NewDerivation(&e), Dropped: e.Dropped,
	}
	return answerWith(j)
}

// Findings are what is wrong with a file.
type Findings struct {
	_         struct{}  `additionalProperties:"true"`
	Findings  []Finding `json:"findings"`
	Undecided bool      `json:"undecided" doc:"the proofs ran out of steps; there might be more findings"`
	Dropped   int       `json:"dropped" doc:"number of further findings"`
}

// A Finding is one.
type Finding struct {
	_         struct{}    `additionalProperties:"true"`
	Line      int         `json:"line"`
	Column    int         `json:"column" doc:"from 1, in bytes"`
	EndLine   int         `json:"end_line"`
	EndColumn int         `json:"end_column"`
	ID        string      `json:"id" doc:"of the check, see docs/lint.md"`
	Name      string      `json:"name"`
	Severity  string      `json:"severity" enum:"note,warning,error"`
	Message   string      `json:"message"`
	Advice    string      `json:"advice"`
	Dialects  []string    `json:"dialects" doc:"those in which it matters"`
	Fix       orNull[Fix] `json:"fix"`
}

// A Fix changes a file.
type Fix struct {
	_      struct{}      `additionalProperties:"true"`
	Safe   bool          `json:"safe" doc:"it is proved to change no verdict"`
	Change string        `json:"change" doc:"what an unsafe fix changes"`
	Edits  []shapes.Edit `json:"edits"`
}

func (s *Service) lint(ctx context.Context, in *lintInput) (*answer, error) {
	p := mayAsk(ctx)
	for i, name := range in.Body.Dialects {
		if p == nil {
			_, p = s.dialectOf(name, fmt.Sprintf("body.dialects[%d]", i))
		}
	}
	var body []byte
	if p == nil {
		body, p = in.Body.bytes()
	}
	if p != nil {
		return nil, p
	}
	found := lint.File(robots.Parse(body), lint.Options{Dialects: in.Body.Dialects})
	j := &Findings{Findings: []Finding{}, Undecided: found.Undecided, Dropped: found.Dropped}
	for i := range found.Diagnostics {
		d := &found.Diagnostics[i]
		f := Finding{
			Line: d.Line, Column: d.Column, EndLine: d.EndLine, EndColumn: d.EndColumn,
			ID: d.Check.ID, Name: d.Check.Name, Severity: d.Severity.String(), Message: d.Message, Advice: d.Advice,
			Dialects: append([]string{}, d.Dialects...),
		}
		if d.Fix != nil {
			f.Fix.Value = &Fix{Safe: d.Fix.Safe, Change: d.Fix.Change, Edits: shapes.NewEdits(d.Fix)}
		}
		j.Findings = append(j.Findings, f)
	}
	return answerWith(j)
}

// A Diff is what changes for each crawler.
type Diff struct {
	_        struct{}      `additionalProperties:"true"`
	Dialect  string        `json:"dialect"`
	Same     bool          `json:"same" doc:"proved: no verdict changes for any crawler and URL"`
	Crawlers []CrawlerDiff `json:"crawlers"`
}

// A CrawlerDiff is what changes for one crawler.
type CrawlerDiff struct {
	_            struct{}      `additionalProperties:"true"`
	Agent        string        `json:"agent"`
	Result       string        `json:"result" enum:"same,differs,undecided" doc:"same is proved; undecided: the proof ran out of steps"`
	NewlyBlocked []ChangeOfURL `json:"newly_blocked" doc:"a URL for each rule that blocks what was allowed"`
	NewlyAllowed []ChangeOfURL `json:"newly_allowed" doc:"a URL for each rule that allows what was blocked"`
	Complete     bool          `json:"complete" doc:"there are no other changes"`
}

// A ChangeOfURL is a URL that is answered otherwise.
type ChangeOfURL struct {
	_        struct{}            `additionalProperties:"true"`
	Path     string              `json:"path"`
	Shortest bool                `json:"shortest" doc:"there is no shorter one for the rules that are shown"`
	Old      orNull[shapes.Rule] `json:"old" doc:"the rule that decided, null for none"`
	New      orNull[shapes.Rule] `json:"new"`
}

// The bounds of a diff: crawlers of a request, and steps of all its proofs together, of some
// twenty nanoseconds each.
const (
	mostCrawlers = 1000
	diffSteps    = 20 * compare.DefaultSteps
)

func (s *Service) diff(ctx context.Context, in *diffInput) (*answer, error) {
	p := mayAsk(ctx)
	var d robots.Dialect
	if p == nil {
		d, p = s.dialectOf(in.Body.Dialect, "body.dialect")
	}
	for _, agent := range in.Body.Agent {
		if p == nil {
			p = checkAgents([]string{agent}, d, "body.agent")
		}
	}
	if p != nil {
		return nil, p
	}
	old, changed := robots.Parse([]byte(in.Body.Old)), robots.Parse([]byte(in.Body.New))
	names := in.Body.Agent
	if len(names) == 0 {
		names = append(old.Crawlers(d), changed.Crawlers(d)...)
		slices.Sort(names)
		if names = append([]string{"*"}, slices.Compact(names)...); len(names) > mostCrawlers {
			return nil, NewProblem(TooMany, fmt.Sprintf("the files name %d crawlers, and %d are compared at a time: name those that matter with agent", len(names)-1, mostCrawlers))
		}
	}
	callers := make([]robots.Crawler, len(names))
	for i := range names {
		callers[i] = robots.Crawler{Dialect: d, Tokens: names[i : i+1]}
	}
	together := robots.NewCrawlers(callers...)
	before, after := together.Rules(old), together.Rules(changed)
	j := &Diff{Dialect: d.Name, Same: true, Crawlers: []CrawlerDiff{}}
	proofs := newDiffer(diffSteps)
	for i, name := range names {
		if ctx.Err() != nil {
			return nil, NewProblem(Pending, "the caller has gone").After(1)
		}
		if p := Overworked(ctx); p != nil {
			return nil, p
		}
		r := proofs.compare(before[i], after[i])
		c := CrawlerDiff{
			Agent: name, Result: "undecided", NewlyBlocked: changesOf(r.NewlyBlocked), NewlyAllowed: changesOf(r.NewlyAllowed),
			Complete: r.NewlyBlocked.Complete && r.NewlyAllowed.Complete,
		}
		switch {
		case r.Same():
			c.Result = "same"
		case r.Differs():
			c.Result = "differs"
		}
		j.Same = j.Same && r.Same()
		j.Crawlers = append(j.Crawlers, c)
	}
	return answerWith(j)
}

// A differ compares the rules of one crawler after another. Their proofs share steps. Who comes
// when these are used up is still looked at, for rules that are the same take no proof. But to
// look at rules takes steps too, a half for each and more to compare them, and after as many
// steps again all are undecided.
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
		// At least a step: 0 would be the usual number of them.
		r = compare.Rules(before, after, compare.Options{Steps: max(min(d.steps-d.used, compare.DefaultSteps), 1)})
		d.used += r.NewlyBlocked.Steps + r.NewlyAllowed.Steps
		d.known[key] = r
	}
	return r
}

// placesOf says where rules stand in their file: those that stand in the same places are
// the same.
func placesOf(r *robots.Rules) [sha256.Size]byte {
	var places []byte
	for rule := range r.All() {
		places = binary.LittleEndian.AppendUint32(places, uint32(rule.Span().Start))
	}
	return sha256.Sum256(places)
}

func changesOf(d compare.Direction) []ChangeOfURL {
	list := []ChangeOfURL{}
	for _, c := range d.Changes {
		list = append(list, ChangeOfURL{Path: c.Path, Shortest: c.Shortest, Old: orNull[shapes.Rule]{shapes.NewRule(c.Old.Rule)}, New: orNull[shapes.Rule]{shapes.NewRule(c.New.Rule)}})
	}
	return list
}
