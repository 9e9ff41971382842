package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
)

// EvaluationOptions are the evaluations of each capture. They are part of the manifest.
type EvaluationOptions struct {
	Agents   [][]string `json:"agents"`          // tokens of each crawler, most specific first; none is *
	Dialects []string   `json:"dialects"`        // ask.AutoDialect is that of each crawler
	Paths    []string   `json:"paths,omitempty"` // or URLs
	// Steps limits the proofs of access for all agents of one file and dialect; 0 is
	// answer.AccessSteps.
	Steps int `json:"steps"`
}

const (
	verbAsk       = "ask"
	tableVerdicts = "verdicts"
)

// AskTask returns the task that evaluates all captures of a snapshot.
func (o EvaluationOptions) AskTask(dir, format, snapshot string) (*Task, error) {
	if len(o.Paths) == 0 {
		o.Paths = []string{"/"}
	}
	options, err := o.normalize()
	if err != nil {
		return nil, err
	}
	parts, err := openSnapshot(snapshot)
	if err != nil {
		return nil, err
	}
	t := newTask(verbAsk, dir, format, tableVerdicts)
	t.Options = options
	t.addParts(parts)
	for i, p := range parts {
		t.Shards = append(t.Shards, Shard{Number: i, Inputs: inputIndexes(parts[i : i+1]), From: p.from, To: p.to})
	}
	t.DoShard = func(ctx context.Context, s Shard, p *PartWriter) (ShardCounts, error) {
		a, err := newEvaluator(o)
		if err != nil {
			return ShardCounts{}, err
		}
		return a.evaluatePart(ctx, parts[s.Number:s.Number+1], t.Format, p)
	}
	return t, nil
}

// normalize fills in defaults and returns the options as in the manifest.
func (o *EvaluationOptions) normalize() (json.RawMessage, error) {
	if o.Steps == 0 {
		o.Steps = answer.AccessSteps
	}
	if len(o.Agents) == 0 {
		o.Agents = [][]string{{"*"}}
	}
	if len(o.Dialects) == 0 {
		o.Dialects = []string{robots.RFC9309.Name}
	}
	seen := map[string]bool{}
	o.Agents = slices.DeleteFunc(slices.Clone(o.Agents), func(tokens []string) bool {
		name := strings.Join(tokens, " ")
		defer func() { seen[name] = true }()
		return seen[name]
	})
	if _, err := newEvaluator(*o); err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

// An evaluator evaluates files for all crawlers. It is for one goroutine.
type evaluator struct {
	EvaluationOptions
	crawlers     []crawler // in the order of rows
	crawlerRules robots.Crawlers
	ruleSets     map[ruleSetKey]*ruleSet // the last ones
	cachedBytes  int                     // bytes of their bodies
	row          Verdict                 // reused by write
}

// A crawler is one of the agents in one of its dialects.
type crawler struct {
	name    string // its tokens, with spaces between
	dialect robots.Dialect
	paths   []robots.Path // of AskOptions
}

// A ruleSetKey is what the rules of a capture depend on.
type ruleSetKey struct {
	sha256         string
	truncated      bool
	outcome, cause string
	status, hops   int32
}

// Limits of the rules that an evaluator keeps: neighbors and mirrors share files.
const (
	maxCachedRuleSets = 1000
	maxCachedBytes    = 16 << 20
)

func newEvaluator(o EvaluationOptions) (*evaluator, error) {
	a := &evaluator{EvaluationOptions: o, ruleSets: map[ruleSetKey]*ruleSet{}}
	paths := map[robots.Escapes][]robots.Path{}
	for _, tokens := range o.Agents {
		seen := map[string]bool{}
		for _, name := range o.Dialects {
			c, err := ask.Crawler(name, strings.Join(tokens, " "), tokens...)
			if err != nil {
				return nil, err
			}
			d := c.Dialect
			if seen[d.Name] {
				continue // auto beside its dialect
			}
			seen[d.Name] = true
			if paths[d.Escapes] == nil {
				if paths[d.Escapes], err = o.paths(d); err != nil {
					return nil, err
				}
			}
			a.crawlers = append(a.crawlers, crawler{c.Name, d, paths[d.Escapes]})
			a.crawlerRules.Add(d, c.Tokens...)
		}
	}
	return a, nil
}

// paths returns the paths as a dialect reads them.
func (o *EvaluationOptions) paths(d robots.Dialect) (paths []robots.Path, err error) {
	for _, text := range o.Paths {
		_, path, err := ask.URL(d, text, false)
		if err != nil {
			return nil, fmt.Errorf("--path: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// rulesOfBody returns the rules of a body for each crawler.
func (a *evaluator) rulesOfBody(body []byte, truncated bool) []*robots.Rules {
	if truncated { // each dialect discards a partial last line (D-17)
		r := &fetch.Record{Outcome: fetch.Success, Body: body, Truncated: true}
		return a.crawlerRules.RulesBy(func(d robots.Dialect) *robots.Rules { return r.Rules(d, r.Fetched) })
	}
	return a.crawlerRules.Rules(robots.Parse(body))
}

// rulesWithoutBody returns the rules for each crawler of a capture without a body, at its time.
func (a *evaluator) rulesWithoutBody(c *Capture) ([]*robots.Rules, error) {
	r := &fetch.Record{URL: c.URL, Hops: make([]fetch.Hop, c.Hops+1), Status: int(c.Status), Started: c.Fetched, Fetched: c.Fetched}
	if err := errors.Join(r.Outcome.UnmarshalText([]byte(c.Outcome)), r.Cause.UnmarshalText([]byte(c.Cause))); err != nil {
		return nil, err
	}
	if !r.Outcome.Good() {
		r = r.After(nil)
	}
	return a.crawlerRules.RulesBy(func(d robots.Dialect) *robots.Rules { return r.Rules(d, r.Fetched) }), nil
}

// A ruleSet holds the distinct rules of one body, or of one reason to have no body.
type ruleSet struct {
	rules          []*robots.Rules
	crawlerIndexes []int // crawler of each of them, which has its dialect
	access         []answer.Access
	ruleIndexes    []int // the rules of each crawler

	evaluations []evaluation // of all paths for the first rules, then for the next
}

// newRuleSet collects distinct rules and proves their access.
func (a *evaluator) newRuleSet(all []*robots.Rules) *ruleSet {
	s := &ruleSet{ruleIndexes: make([]int, len(all))}
	made := map[*robots.Rules]int{}
	provers := map[string]*answer.Prover{} // by dialect, so that the cost in one does not change the next
	for i, r := range all {
		at, ok := made[r]
		if !ok {
			dialect := a.crawlers[i].dialect.Name
			if provers[dialect] == nil {
				provers[dialect] = answer.NewProver(a.Steps)
			}
			at = len(s.rules)
			made[r] = at
			s.rules, s.crawlerIndexes = append(s.rules, r), append(s.crawlerIndexes, i)
			s.access = append(s.access, provers[dialect].Access(r))
		}
		s.ruleIndexes[i] = at
	}
	return s
}

// evaluatePaths returns the results of the paths. Without rules, the verdicts are unknown.
func (a *evaluator) evaluatePaths(s *ruleSet) *ruleSet {
	if s == nil {
		return &ruleSet{ruleIndexes: make([]int, len(a.crawlers)), evaluations: slices.Repeat([]evaluation{unknownEvaluation}, len(a.Paths))}
	}
	if s.evaluations == nil {
		for i, r := range s.rules {
			for _, path := range a.crawlers[s.crawlerIndexes[i]].paths {
				s.evaluations = append(s.evaluations, evaluate(r, r.Match(path), s.access[i]))
			}
		}
	}
	return s
}

// A evaluation is a Result and the delay that the rules declare.
type evaluation struct {
	PathVerdict
	CrawlDelay *float64
}

// evaluate returns the result of a verdict. An undecided verdict is never a permission:
// /robots.txt of an unreachable site is unknown too, and so is any verdict of a dialect that
// reads beyond the kept bytes of a truncated file.
func evaluate(r *robots.Rules, v robots.Verdict, a answer.Access) evaluation {
	if isTruncated(r) {
		return evaluation{PathVerdict: PathVerdict{Access: string(answer.AccessUndecided)}}
	}
	t := evaluation{PathVerdict: PathVerdict{Reason: v.Reason.String(), Access: string(a), Group: validUTF8(v.Group.Token())}}
	if v.Reason == robots.ReasonRobotsTxt {
		if site := r.Match(robots.RawPath("/")); site.Undecided() {
			v, t.Reason = site, site.Reason.String()
		}
	}
	if v.Undecided() {
		t.Access = string(answer.AccessUnknown)
		return t
	}
	t.Verdict = v.Word()
	if !v.Rule.IsZero() {
		t.Line, t.Directive, t.Pattern = int32(v.Rule.Line()), v.Rule.Directive(), validUTF8(v.Rule.Path())
	}
	if seconds, ok := r.CrawlDelay(); ok {
		t.CrawlDelay = &seconds
	}
	return t
}

// validUTF8 copies a text. Bytes that are not UTF-8 become U+FFFD, as in a batch.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return strings.Clone(s)
	}
	return string([]rune(s))
}

// cachedRules returns the rules for a capture, nil if the archive holds no answer of the site, which
// is neither allowed nor disallowed.
func (a *evaluator) cachedRules(c *storedCapture) (*ruleSet, error) {
	if !c.HasAnswer() {
		return nil, nil
	}
	var key ruleSetKey
	if c.hasBody() {
		key = ruleSetKey{sha256: c.SHA256, truncated: c.Truncated}
	} else {
		key = ruleSetKey{outcome: c.Outcome, cause: c.Cause, status: c.Status, hops: c.Hops}
	}
	if s := a.ruleSets[key]; s != nil {
		return s, nil
	}
	rules, n, err := a.readRules(c)
	if err != nil {
		return nil, err
	}
	if a.cachedBytes += n; len(a.ruleSets) >= maxCachedRuleSets || a.cachedBytes > maxCachedBytes {
		clear(a.ruleSets)
		a.cachedBytes = n
	}
	a.ruleSets[key] = a.newRuleSet(rules)
	return a.ruleSets[key], nil
}

// readRules returns the rules of a capture for each crawler, and the size of its body.
func (a *evaluator) readRules(c *storedCapture) (rules []*robots.Rules, size int, err error) {
	if !c.hasBody() {
		rules, err = a.rulesWithoutBody(&c.Capture)
		return rules, 0, err
	}
	body, err := c.body()
	if err != nil {
		return nil, 0, err
	}
	return a.rulesOfBody(body, c.Truncated), len(body), nil
}

// unknownEvaluation is the result without an answer.
var unknownEvaluation = evaluation{PathVerdict: PathVerdict{Access: string(answer.AccessUnknown)}}

// evaluatePart makes the rows of a part of a snapshot.
func (a *evaluator) evaluatePart(ctx context.Context, parts []snapshotPart, format string, p *PartWriter) (counts ShardCounts, err error) {
	w, err := createTablePart[Verdict](p, tableVerdicts, format, "surt", "origin", "fetched")
	if err != nil {
		return counts, err
	}
	for c, err := range readCaptures(ctx, &p.tempFiles, parts, "", "") {
		if err != nil {
			return counts, err
		}
		rules, err := a.cachedRules(&c)
		if err != nil {
			return counts, fmt.Errorf("%s row %d: %w", parts[0].captures.Name, counts.Captures, err)
		}
		counts.Captures++
		if err := a.writeVerdicts(w, &c.Capture, a.evaluatePaths(rules)); err != nil {
			return counts, err
		}
	}
	return counts, w.Close()
}

// writeVerdicts writes the rows of a capture.
func (a *evaluator) writeVerdicts(w *tableWriter[Verdict], c *Capture, of *ruleSet) error {
	row := &a.row
	*row = Verdict{SURT: c.SURT, Origin: c.Origin, Fetched: c.Fetched.UTC(), Outcome: c.Outcome, Engine: Engine(), Input: c.Input, Offset: c.Offset}
	for k := range a.crawlers {
		row.Agent, row.Dialect = a.crawlers[k].name, a.crawlers[k].dialect.Name
		at := of.ruleIndexes[k] * len(a.Paths)
		for i, path := range a.Paths {
			t := &of.evaluations[at+i]
			row.Path, row.PathVerdict, row.CrawlDelay = path, t.PathVerdict, t.CrawlDelay
			if err := w.Write(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// ReadAgents reads a list of crawlers, one a line: tokens separated by spaces or commas, most
// specific first. A comment begins with #.
func ReadAgents(in io.Reader) ([][]string, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var list [][]string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if tokens := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(", \t\r\n\ufeff", r) }); len(tokens) > 0 {
			list = append(list, tokens)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("the list names no crawler: write one per line")
	}
	return list, nil
}

// isTruncated reports whether the dialect reads beyond the kept bytes of a truncated file.
func isTruncated(r *robots.Rules) bool {
	s := r.State()
	return s != nil && s.CutAt != 0
}
