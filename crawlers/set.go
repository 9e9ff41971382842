package crawlers

import (
	"strings"

	"github.com/robotskit/robots"
)

// A Set is crawlers that are asked about one file together. A file is read once for
// each of their dialects, and once for each crawler that it names: all others share
// one answer. A Set is immutable and safe for concurrent use.
type Set struct {
	n        int
	dialects []readers
}

// readers are the crawlers of a set that read a file alike.
type readers struct {
	dialect robots.Dialect
	members []member
	named   map[string][]int // members by their tokens in lower case, as the engine reads them
}

// A member is a crawler of a set.
type member struct {
	at     int // in the list that the set was made of
	tokens []string
	alone  bool // the group of '*' may not be its own (D-53)
}

// NewSet returns the set of some crawlers.
func NewSet(list []Crawler) *Set {
	s := &Set{n: len(list)}
	byName := map[string]int{}
	for at, c := range list {
		d := c.ReadAs()
		i, ok := byName[d.Name]
		if !ok {
			i = len(s.dialects)
			byName[d.Name] = i
			s.dialects = append(s.dialects, readers{dialect: d, named: map[string][]int{}})
		}
		g := &s.dialects[i]
		for _, value := range c.Tokens {
			for _, t := range robots.ProductTokens(value) {
				t = strings.ToLower(t)
				g.named[t] = append(g.named[t], len(g.members))
			}
		}
		g.members = append(g.members, member{at: at, tokens: c.Tokens, alone: d.IgnoreStar != "" && c.Obeys == ObeysNamed})
	}
	return s
}

// Rules returns what each crawler obeys, in the order of the list. Crawlers whom
// the file does not name share one value. For a file pass file.Rules; what came of
// a fetch is asked by a function that calls the Rules of its record, and is called
// once for each dialect.
func (s *Set) Rules(of func(d robots.Dialect, tokens ...string) *robots.Rules) []*robots.Rules {
	all := make([]*robots.Rules, s.n)
	for i := range s.dialects {
		g := &s.dialects[i]
		others := of(g.dialect)
		for _, m := range g.members {
			all[m.at] = others
		}
		if _, noFile := others.FallbackReason(); noFile {
			continue
		}
		ask := func(m *member) {
			if all[m.at] != others {
				return
			}
			r := others.File().Rules(others.Dialect(), m.tokens...)
			if state := others.State(); state != nil {
				r = r.WithState(*state)
			}
			all[m.at] = r
		}
		for line := range others.File().Readings(others.Dialect()) {
			for _, name := range line.Names {
				for _, k := range g.named[strings.ToLower(name)] {
					ask(&g.members[k])
				}
			}
		}
		for k := range g.members {
			if g.members[k].alone {
				ask(&g.members[k])
			}
		}
	}
	return all
}
