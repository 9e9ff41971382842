package answer

import (
	"encoding/binary"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/crawlers"
)

// Access is how much of a site a crawler may fetch, except /robots.txt. The values are a
// contract.
type Access string

// The values.
const (
	AccessAll       Access = "all"  // nothing is disallowed
	AccessPart      Access = "part" // something is, and not everything
	AccessNone      Access = "none" // everything is disallowed
	AccessUndecided Access = "undecided"
	AccessUnknown   Access = "unknown" // the file is unavailable
)

// AccessSteps limits the proofs of one table to about a second of work. Proofs beyond are
// undecided.
const AccessSteps = 20_000_000

// An AccessResult is the access of a crawler, with the reason.
type AccessResult struct {
	Access  Access
	Verdict robots.Verdict // of the shortest URL that is blocked, of "/" if none is
	Others  int            // other rules that block URLs
	NoFile  bool           // the verdict does not come from a file
}

// Named reports whether the file names the crawler.
func (s *AccessResult) Named() bool {
	return !s.Verdict.Group.IsZero() && s.Verdict.Group.Token() != "*"
}

// A Prover proves the access that rules grant, once for crawlers with the same rules.
type Prover struct {
	steps int // left
	known map[string]accessProof
}

// An accessProof is the result for rules.
type accessProof struct {
	access  Access
	blocked robots.Path // a shortest URL that is blocked, "/" if none is
	others  int         // other rules that block URLs
}

// NewProver returns a Prover that takes at most this many steps, usually AccessSteps.
func NewProver(steps int) *Prover {
	return &Prover{steps: steps, known: map[string]accessProof{}}
}

// Evaluate returns the access that rules grant.
func (p *Prover) Evaluate(r *robots.Rules) (s AccessResult) {
	_, s.NoFile = r.FallbackReason()
	if s.NoFile {
		s.Access = AccessAll
		s.Verdict = r.Match(robots.RawPath("/"))
		switch {
		case s.Verdict.Undecided():
			s.Access = AccessUnknown
		case !s.Verdict.Allowed:
			s.Access = AccessNone
		}
		return s
	}
	key := keyOf(r)
	found, ok := p.known[key]
	if !ok {
		found = p.prove(r)
		p.known[key] = found
	}
	return AccessResult{Access: found.access, Verdict: r.Match(found.blocked), Others: found.others}
}

// Access is Stand without the URL, which is faster for rules that allow a part.
func (p *Prover) Access(r *robots.Rules) Access {
	if _, noFile := r.FallbackReason(); !noFile && hasPart(r) {
		return AccessPart
	}
	return p.Evaluate(r).Access
}

// hasPart reports whether some of "/" and the paths of rules are allowed and some blocked,
// which proves a part. If it returns false nothing is proved.
func hasPart(r *robots.Rules) bool {
	const most = 32 // rules
	allowed := r.Allowed(robots.RawPath("/"))
	n := 0
	for rule := range r.All() {
		n++
		if n > most {
			return false
		}
		if path := rule.Path(); rule.Allows() == allowed || !isPlain(path) {
			continue
		} else if r.Allowed(robots.RawPath(path)) != allowed {
			return true
		}
	}
	return false
}

// isPlain reports whether a path is a URL as in package compare that all dialects read the
// same, and not /robots.txt.
func isPlain(path string) bool {
	if path == "" || path[0] != '/' || path == "/robots.txt" {
		return false
	}
	for i := range len(path) {
		c := path[i]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
		case c == '.' && path[i-1] != '/': // no segment of dots
		case c == '/' && (i == 0 || path[i-1] != '/'):
		default:
			return false
		}
	}
	return true
}

// keyOf identifies rules by their dialect and their positions in a file.
func keyOf(r *robots.Rules) string {
	key := append([]byte(r.Dialect().Name), 0)
	for rule := range r.All() {
		key = binary.AppendUvarint(key, uint64(rule.Span().Start))
	}
	return string(key)
}

// prove compares the rules with rules that allow everything, and that disallow
// everything.
func (p *Prover) prove(r *robots.Rules) accessProof {
	d := r.Dialect()
	ask := func(before, after *robots.Rules) compare.Direction {
		if p.steps <= 0 {
			return compare.Direction{}
		}
		dir := compare.Blocked(before, after, compare.Options{Steps: min(p.steps, compare.DefaultSteps), SkipRobotsTxt: true})
		p.steps -= dir.Steps
		return dir
	}
	found := accessProof{blocked: robots.RawPath("/")}
	blocked := ask(robots.AllowAll(d, robots.ReasonUnavailable), r)
	if len(blocked.Changes) > 0 {
		found.blocked = robots.RawPath(blocked.Changes[0].Path)
		found.others = len(blocked.Changes) - 1
	}
	if blocked.None() {
		found.access = AccessAll
		return found
	}
	switch open := ask(r, robots.DisallowAll(d, robots.ReasonUnavailable)); {
	case open.None():
		found.access = AccessNone
	case len(blocked.Changes) > 0 && len(open.Changes) > 0:
		found.access = AccessPart
	default:
		found.access = AccessUndecided
	}
	return found
}

// CrawlerFacts are what the directory documents of a crawler.
type CrawlerFacts struct {
	Name     string             `json:"name"`     // its usual name
	Tokens   []string           `json:"tokens"`   // most specific first
	Operator string             `json:"operator"` // or unknown
	Purpose  crawlers.Purpose   `json:"purpose"`  // the main one, or unknown
	Also     []crawlers.Purpose `json:"also"`     // further purposes
	Dialect  string             `json:"dialect"`  // or unknown
	Obeys    crawlers.Obeys     `json:"obeys"`    // yes, no, ignores-star, user-initiated or unknown
	Binds    crawlers.Binds     `json:"binds"`    // whom a file addresses: yes, not-by-star or no
	Sources  []crawlers.Source  `json:"sources"`  // the documents, the most informative first
}

// A CrawlerEntry is a crawler of the directory without a robots.txt. Members can be unknown.
type CrawlerEntry struct {
	CrawlerFacts
	FurtherTokens []crawlers.FurtherToken `json:"further_tokens"` // the tokens after the first
	Status        crawlers.Status         `json:"status"`         // used, opt-out, token, former, mistake or unknown
	Spellings     []string                `json:"spellings"`      // in real files instead of the first token
	CrawlDelay    string                  `json:"crawl_delay"`    // honored, ignored or unknown
	RequestRate   string                  `json:"request_rate"`   // honored, ignored or unknown
	ReverseDNS    string                  `json:"reverse_dns"`    // domains of its addresses, or unknown
	Addresses     string                  `json:"addresses"`      // URL of a list of them, or unknown
	Rival         *string                 `json:"rival"`          // token of another operator whose group it obeys if it is not named
	GoogleReads   *string                 `json:"google_reads"`   // its name as Google's dialects truncate it; nobody if nothing is left
	Note          *string                 `json:"note"`           // a remark
}

// A CrawlerAccess is the access of a crawler of the directory.
type CrawlerAccess struct {
	CrawlerFacts
	Access  Access  `json:"access"`  // all, part, none, undecided, or unknown (robots.txt is unreachable)
	Verdict *string `json:"verdict"` // allow, disallow or undefined for a path; null without
	Rule    *Rule   `json:"rule"`    // that decides
	Group   *Group  `json:"group"`   // that applies
	// Fallback is the token whose group applies because no group names the crawler, or null.
	Fallback *crawlers.FurtherToken `json:"fallback"`

	AccessResult `json:"-"` // for the path, if there is one
}

// NewCrawlerEntry returns the entry of a crawler.
func NewCrawlerEntry(c crawlers.Crawler) CrawlerEntry {
	return CrawlerEntry{
		CrawlerFacts: factsOf(c), FurtherTokens: append([]crawlers.FurtherToken{}, c.FurtherTokens...), Status: c.Status,
		Spellings: append([]string{}, c.Spellings...), CrawlDelay: c.CrawlDelay, RequestRate: c.RequestRate, ReverseDNS: c.ReverseDNS,
		Addresses: c.Addresses, Rival: OrNull(c.Rival), GoogleReads: OrNull(c.GoogleReads), Note: OrNull(c.Note),
	}
}

func factsOf(c crawlers.Crawler) CrawlerFacts {
	return CrawlerFacts{
		Name: c.Name, Tokens: c.Tokens, Operator: c.Operator, Purpose: c.Purpose, Also: append([]crawlers.Purpose{}, c.Also...),
		Dialect: c.Dialect, Obeys: c.Obeys, Binds: c.Binds(), Sources: c.Sources,
	}
}

// AccessTable returns the access of crawlers, in their order, and the steps of its proofs, at most limit
// and hardly more. With a path, the verdicts are those on it.
func AccessTable(src Source, who []crawlers.Crawler, path *robots.Path, limit int) (table []CrawlerAccess, steps int) {
	prover := NewProver(limit)
	rules := rulesOfAll(crawlers.Callers(who), src)
	for i, c := range who {
		row := CrawlerAccess{CrawlerFacts: factsOf(c), AccessResult: prover.Evaluate(rules[i])}
		row.Access = row.AccessResult.Access
		if path != nil {
			row.AccessResult.Verdict = rules[i].Match(*path)
			row.Others = 0
			row.Verdict = OrNull(row.AccessResult.Verdict.Word())
		}
		row.Rule = NewRule(row.AccessResult.Verdict.Rule)
		row.Group = NewGroup(row.AccessResult.Verdict.Group)
		if token, ok := c.Fallback(rules[i]); ok {
			row.Fallback = &token
		}
		table = append(table, row)
	}
	return table, limit - prover.steps
}
