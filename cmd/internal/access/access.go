// Package access proves how much of a site a robots.txt leaves to a crawler: all, a part
// or nothing.
package access

import (
	"crypto/sha256"
	"encoding/binary"
	"io"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

// Access is how much of a site a file leaves to a crawler, /robots.txt aside. The words
// are a contract.
type Access string

// The values.
const (
	All       Access = "all"  // nothing is disallowed
	Part      Access = "part" // something is, and not everything
	None      Access = "none" // everything is disallowed
	Undecided Access = "undecided"
	Unknown   Access = "unknown" // the file cannot be had
)

// Steps bounds the proofs of one table, which a file may make costly: about a
// second of work. What is beyond is undecided.
const Steps = 20_000_000

// A Standing is what a file says to a crawler.
type Standing struct {
	Access  Access
	Verdict robots.Verdict // of the shortest URL that is blocked, of "/" if none is
	Others  int            // rules that block something besides
	NoFile  bool           // the verdict is that of no file
}

// Named reports whether the file names the crawler.
func (s *Standing) Named() bool {
	return !s.Verdict.Group.IsZero() && s.Verdict.Group.Token() != "*"
}

// A Prover finds out what rules leave to a crawler, once for crawlers that obey the
// same rules, in one group or in several that say the same.
type Prover struct {
	steps int // left
	done  map[*robots.Rules]Standing
	known map[[sha256.Size]byte]proof
}

// A proof is what holds for rules, whoever obeys them.
type proof struct {
	access  Access
	blocked robots.Path // a shortest URL that is blocked, "/" if none is
	others  int         // rules that block something besides
}

// NewProver returns one that takes so many steps for all its proofs: Steps is usual.
func NewProver(steps int) *Prover {
	return &Prover{steps: steps, done: map[*robots.Rules]Standing{}, known: map[[sha256.Size]byte]proof{}}
}

// Stand returns what the rules leave to who obeys them.
func (p *Prover) Stand(r *robots.Rules) Standing {
	s, ok := p.done[r]
	if ok {
		return s
	}
	root := robots.RawPath("/")
	if _, s.NoFile = r.FallbackReason(); s.NoFile {
		s.Access, s.Verdict = All, r.Match(root)
		switch {
		case s.Verdict.Undecided():
			s.Access = Unknown
		case !s.Verdict.Allowed:
			s.Access = None
		}
	} else {
		key := fingerprint(r)
		found, ok := p.known[key]
		if !ok {
			found = p.prove(r)
			p.known[key] = found
		}
		s.Access, s.Verdict, s.Others = found.access, r.Match(found.blocked), found.others
	}
	p.done[r] = s
	return s
}

// Access is Stand without the URL: it is found sooner where rules leave a part, as most do.
func (p *Prover) Access(r *robots.Rules) Access {
	if s, ok := p.done[r]; ok {
		return s.Access
	}
	if _, noFile := r.FallbackReason(); !noFile && hasPart(r) {
		return Part
	}
	return p.Stand(r).Access
}

// hasPart reports whether, of "/" and of URLs that are the paths of rules, one is allowed and
// one is not. That proves a part; without them nothing is proved.
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

// isPlain reports whether a path is a URL as package compare has them, which every dialect
// reads alike: the others it leaves to the proof, and /robots.txt, which is nobody's part.
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

// fingerprint is the same for rules of one dialect that stand in the same lines of a
// file. A file that is made for it must not confuse two, for what is proved of one
// would be said of the other.
func fingerprint(r *robots.Rules) (sum [sha256.Size]byte) {
	h := sha256.New()
	io.WriteString(h, r.Dialect().Name) // a hash takes everything
	var start [8]byte
	for rule := range r.All() {
		h.Write(binary.LittleEndian.AppendUint64(start[:0], uint64(rule.Span().Start)))
	}
	h.Sum(sum[:0])
	return sum
}

// prove compares the rules with those that allow everything and those that disallow
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
