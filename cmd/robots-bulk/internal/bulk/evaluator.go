package bulk

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
)

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

// A ruleSetKey is what the rules of a capture depend on: its body, or its outcome without a body.
type ruleSetKey struct {
	sha256    string
	truncated bool

	outcome string
	cause   string
	status  int32
	hops    int32
}

// ruleSetKey returns what the rules of the capture depend on.
func (c *Capture) ruleSetKey() ruleSetKey {
	if c.hasBody() {
		return ruleSetKey{sha256: c.SHA256, truncated: c.Truncated}
	}
	return ruleSetKey{outcome: c.Outcome, cause: c.Cause, status: c.Status, hops: c.Hops}
}

// Limits of the rules that an evaluator keeps: neighbors and mirrors share files.
const (
	maxCachedRuleSets = 1000
	maxCachedBytes    = 16 << 20
)

func newEvaluator(o EvaluationOptions) (*evaluator, error) {
	e := &evaluator{EvaluationOptions: o, ruleSets: map[ruleSetKey]*ruleSet{}}
	paths := map[robots.Escapes][]robots.Path{}
	for _, tokens := range o.Agents {
		seen := map[string]bool{} // dialects, one of which can be that of auto
		for _, name := range o.Dialects {
			c, err := ask.Crawler(name, strings.Join(tokens, " "), tokens...)
			if err != nil {
				return nil, err
			}
			dialect := c.Dialect
			if seen[dialect.Name] {
				continue
			}
			seen[dialect.Name] = true
			if paths[dialect.Escapes] == nil {
				paths[dialect.Escapes], err = o.paths(dialect)
				if err != nil {
					return nil, err
				}
			}
			e.crawlers = append(e.crawlers, crawler{name: c.Name, dialect: dialect, paths: paths[dialect.Escapes]})
			e.crawlerRules.Add(dialect, c.Tokens...)
		}
	}
	return e, nil
}

// paths returns the paths as a dialect reads them.
func (o *EvaluationOptions) paths(d robots.Dialect) (paths []robots.Path, err error) {
	for _, text := range o.Paths {
		if strings.HasPrefix(text, "//") { // a path and not a host, as the name of the flag promises
			text = "https://host.invalid" + text
		}
		_, path, err := ask.URL(d, text, false)
		if err != nil {
			return nil, fmt.Errorf("--path: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// rulesOfBody returns the rules of a body for each crawler.
func (e *evaluator) rulesOfBody(body []byte, truncated bool) []*robots.Rules {
	if !truncated {
		return e.crawlerRules.Rules(robots.Parse(body))
	}
	// Each dialect discards a partial last line (D-17).
	return e.rulesOfRecord(&fetch.Record{Outcome: fetch.Success, Body: body, Truncated: true})
}

// rulesWithoutBody returns the rules for each crawler of a capture without a body, at its time.
func (e *evaluator) rulesWithoutBody(capture *Capture) ([]*robots.Rules, error) {
	record := &fetch.Record{
		URL: capture.URL, Hops: make([]fetch.Hop, capture.Hops+1), Status: int(capture.Status),
		Started: capture.Fetched, Fetched: capture.Fetched,
	}
	if err := record.Outcome.UnmarshalText([]byte(capture.Outcome)); err != nil {
		return nil, err
	}
	if err := record.Cause.UnmarshalText([]byte(capture.Cause)); err != nil {
		return nil, err
	}
	if !record.Outcome.Good() {
		record = record.After(nil)
	}
	return e.rulesOfRecord(record), nil
}

// rulesOfRecord returns the rules of the outcome of a fetch for each crawler.
func (e *evaluator) rulesOfRecord(record *fetch.Record) []*robots.Rules {
	return e.crawlerRules.RulesBy(func(d robots.Dialect) *robots.Rules { return record.Rules(d, record.Fetched) })
}

// A ruleSet holds the distinct rules of one body, or of one reason to have no body. Rules are
// distinct by pointer: crawlers of one dialect and group share them.
type ruleSet struct {
	rules          []*robots.Rules
	crawlerIndexes []int           // of the first crawler that has the rules, by rules
	access         []answer.Access // by rules
	ruleIndexes    []int           // of the rules of each crawler, by crawler

	evaluations []evaluation // of all paths for the first rules, then for the next ones
}

// newRuleSet collects the distinct ones of the rules of each crawler and proves their access.
func (e *evaluator) newRuleSet(rulesByCrawler []*robots.Rules) *ruleSet {
	set := &ruleSet{ruleIndexes: make([]int, len(rulesByCrawler))}
	indexes := map[*robots.Rules]int{}
	provers := map[string]*answer.Prover{} // by dialect, so that the cost in one does not change the next
	for i, rules := range rulesByCrawler {
		index, ok := indexes[rules]
		if !ok {
			dialect := e.crawlers[i].dialect.Name
			if provers[dialect] == nil {
				provers[dialect] = answer.NewProver(e.Steps)
			}
			index = len(set.rules)
			indexes[rules] = index
			set.rules = append(set.rules, rules)
			set.crawlerIndexes = append(set.crawlerIndexes, i)
			set.access = append(set.access, provers[dialect].Access(rules))
		}
		set.ruleIndexes[i] = index
	}
	return set
}

// evaluatePaths fills in the evaluations of a set and returns it. Without a set, it returns one whose
// verdicts are unknown.
func (e *evaluator) evaluatePaths(set *ruleSet) *ruleSet {
	if set == nil {
		unknown := slices.Repeat([]evaluation{unknownEvaluation}, len(e.Paths))
		return &ruleSet{ruleIndexes: make([]int, len(e.crawlers)), evaluations: unknown}
	}
	if set.evaluations != nil {
		return set
	}
	for i, rules := range set.rules {
		for _, path := range e.crawlers[set.crawlerIndexes[i]].paths {
			set.evaluations = append(set.evaluations, evaluate(rules, rules.Match(path), set.access[i]))
		}
	}
	return set
}

// An evaluation is the verdict for a path and the delay that the rules declare.
type evaluation struct {
	PathVerdict
	CrawlDelay *float64
}

// unknownEvaluation is that of a capture without an answer of the site.
var unknownEvaluation = evaluation{PathVerdict: PathVerdict{Access: string(answer.AccessUnknown)}}

// evaluate returns the evaluation for a verdict. An undecided verdict is never a permission:
// /robots.txt of an unreachable site is unknown too, and so is any verdict of a dialect that
// reads beyond the kept bytes of a truncated file.
func evaluate(rules *robots.Rules, verdict robots.Verdict, access answer.Access) evaluation {
	if isTruncated(rules) {
		return evaluation{PathVerdict: PathVerdict{Access: string(answer.AccessUndecided)}}
	}
	result := evaluation{PathVerdict: PathVerdict{
		Reason: verdict.Reason.String(), Access: string(access), Group: validUTF8(verdict.Group.Token()),
	}}
	if verdict.Reason == robots.ReasonRobotsTxt {
		site := rules.Match(robots.RawPath("/"))
		if site.Undecided() {
			verdict = site
			result.Reason = site.Reason.String()
		}
	}
	if verdict.Undecided() {
		result.Access = string(answer.AccessUnknown)
		return result
	}
	result.Verdict = verdict.Word()
	if !verdict.Rule.IsZero() {
		result.Line = int32(verdict.Rule.Line())
		result.Directive = verdict.Rule.Directive()
		result.Pattern = validUTF8(verdict.Rule.Path())
	}
	if seconds, ok := rules.CrawlDelay(); ok {
		result.CrawlDelay = &seconds
	}
	return result
}

// isTruncated reports whether the dialect reads beyond the kept bytes of a truncated file.
func isTruncated(rules *robots.Rules) bool {
	state := rules.State()
	return state != nil && state.CutAt != 0
}

// validUTF8 copies a text. Bytes that are not UTF-8 become U+FFFD, as in a batch.
func validUTF8(s string) string { return strings.Clone(asUTF8(s)) }

// asUTF8 is validUTF8, and copies only a text that is not valid.
func asUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// cachedRules returns the rules for a capture, nil if the archive holds no answer of the site, which
// is neither allowed nor disallowed.
func (e *evaluator) cachedRules(capture *storedCapture) (*ruleSet, error) {
	if !capture.HasAnswer() {
		return nil, nil
	}
	key := capture.ruleSetKey()
	if set := e.ruleSets[key]; set != nil {
		return set, nil
	}
	rules, bodyBytes, err := e.readRules(capture)
	if err != nil {
		return nil, err
	}
	e.cachedBytes += bodyBytes
	if len(e.ruleSets) >= maxCachedRuleSets || e.cachedBytes > maxCachedBytes {
		clear(e.ruleSets)
		e.cachedBytes = bodyBytes
	}
	set := e.newRuleSet(rules)
	e.ruleSets[key] = set
	return set, nil
}

// readRules returns the rules of a capture for each crawler, and the size of its body.
func (e *evaluator) readRules(capture *storedCapture) (rules []*robots.Rules, bodyBytes int, err error) {
	if !capture.hasBody() {
		rules, err = e.rulesWithoutBody(&capture.Capture)
		return rules, 0, err
	}
	body, err := capture.body()
	if err != nil {
		return nil, 0, err
	}
	return e.rulesOfBody(body, capture.Truncated), len(body), nil
}
