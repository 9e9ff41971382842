// Package access proves how much of a site a robots.txt allows a crawler to fetch: all, a
// part or nothing.
package access

import (
	"encoding/binary"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

// Access is how much of a site a crawler may fetch, except /robots.txt. The values are a
// contract.
type Access string

// The values.
const (
	All       Access = "all"  // nothing is disallowed
	Part      Access = "part" // something is, and not everything
	None      Access = "none" // everything is disallowed
	Undecided Access = "undecided"
	Unknown   Access = "unknown" // the file is unavailable
)

// Steps limits the proofs of one table to about a second of work. Proofs beyond are
// undecided.
const Steps = 20_000_000

// A Standing is the access of a crawler, with the reason.
type Standing struct {
	Access  Access
	Verdict robots.Verdict // of the shortest URL that is blocked, of "/" if none is
	Others  int            // other rules that block URLs
	NoFile  bool           // the verdict does not come from a file
}

// Named reports whether the file names the crawler.
func (s *Standing) Named() bool {
	return !s.Verdict.Group.IsZero() && s.Verdict.Group.Token() != "*"
}

// A Prover proves the access that rules grant, once for crawlers with the same rules.
type Prover struct {
	steps int // left
	known map[string]proof
}

// A proof is the result for rules.
type proof struct {
	access  Access
	blocked robots.Path // a shortest URL that is blocked, "/" if none is
	others  int         // other rules that block URLs
}

// NewProver returns a Prover that takes at most this many steps, usually Steps.
func NewProver(steps int) *Prover {
	return &Prover{steps: steps, known: map[string]proof{}}
}

// Stand returns the access that rules grant.
func (p *Prover) Stand(r *robots.Rules) (s Standing) {
	if _, s.NoFile = r.FallbackReason(); s.NoFile {
		s.Access, s.Verdict = All, r.Match(robots.RawPath("/"))
		switch {
		case s.Verdict.Undecided():
			s.Access = Unknown
		case !s.Verdict.Allowed:
			s.Access = None
		}
		return s
	}
	key := keyOf(r)
	found, ok := p.known[key]
	if !ok {
		found = p.prove(r)
		p.known[key] = found
	}
	return Standing{Access: found.access, Verdict: r.Match(found.blocked), Others: found.others}
}

// Access is Stand without the URL, which is faster for rules that allow a part.
func (p *Prover) Access(r *robots.Rules) Access {
	if _, noFile := r.FallbackReason(); !noFile && hasPart(r) {
		return Part
	}
	return p.Stand(r).Access
}

// hasPart reports whether some of "/" and the paths of rules are allowed and some blocked,
// which proves a part. If it returns false nothing is proved.
func hasPart(r *robots.Rules) bool {
	const most = 32 // rules
	allowed := r.Allowed(robots.RawPath("/"))
	n := 0
	for rule := range r.All() {
		if n++; n > most {
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
func (p *Prover) prove(r *robots.Rules) proof {
	d := r.Dialect()
	ask := func(before, after *robots.Rules) compare.Direction {
		if p.steps <= 0 {
			return compare.Direction{}
		}
		dir := compare.Blocked(before, after, compare.Options{Steps: min(p.steps, compare.DefaultSteps), SkipRobotsTxt: true})
		p.steps -= dir.Steps
		return dir
	}
	found := proof{blocked: robots.RawPath("/")}
	blocked := ask(robots.AllowAll(d, robots.ReasonUnavailable), r)
	if len(blocked.Changes) > 0 {
		found.blocked, found.others = robots.RawPath(blocked.Changes[0].Path), len(blocked.Changes)-1
	}
	if blocked.None() {
		found.access = All
		return found
	}
	switch open := ask(r, robots.DisallowAll(d, robots.ReasonUnavailable)); {
	case open.None():
		found.access = None
	case len(blocked.Changes) > 0 && len(open.Changes) > 0:
		found.access = Part
	default:
		found.access = Undecided
	}
	return found
}
