package main

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// reads reports whether a dialect reads product tokens out of a value, instead of taking it
// literally (C-10, C-11).
func reads(d robots.Dialect) bool { return !d.RawTokens }

// reading describes how the dialects read a value, "" if it is a product token or empty.
func reading(value string, ds ...robots.Dialect) string {
	tokens := robots.ProductTokens(value)
	if value == "" || len(tokens) == 1 && tokens[0] == value {
		return ""
	}
	const most = 5 // names that a sentence has
	var said []string
	if slices.ContainsFunc(ds, reads) {
		names := "nobody"
		for i, t := range tokens[:min(len(tokens), most)] {
			switch {
			case i == 0:
				names = strconv.Quote(clip(t))
			case i == len(tokens)-1:
				names += ", then the value itself"
			default:
				names += ", then " + strconv.Quote(clip(t))
			}
		}
		if len(tokens) > most {
			names += " and so on"
		}
		said = append(said, "it is read as "+names)
	}
	for _, d := range ds {
		if !reads(d) {
			said = append(said, d.Name+" takes it as it is, and no group can name it")
		}
	}
	return strconv.Quote(clip(value)) + " is no plain product token: " + strings.Join(said, "; ")
}

// namesNear reports whether a file names a crawler by a name one slip away.
func namesNear(f *robots.File, ds []robots.Dialect, name string) bool {
	low := strings.ToLower(name)
	for _, d := range ds {
		for _, named := range f.Crawlers(d) {
			if n := len(named) - len(name); -1 <= n && n <= 1 && ask.Edits(low, strings.ToLower(named)) == 1 {
				return true
			}
		}
	}
	return false
}

// mostSaid limits the warnings of a batch on values of agent.
const mostSaid = 20

// saidAgents has the warnings of a batch on values of agent.
type saidAgents struct {
	mu   sync.Mutex
	said map[string]bool
}

// warn warns once of a value that is not a plain product token.
func (a *saidAgents) warn(c *command, value string, d robots.Dialect) {
	s := reading(value, d)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case s == "" || len(a.said) > mostSaid || a.said[s]:
		return
	case len(a.said) == mostSaid:
		c.warn("more agents are no plain product tokens, of which nothing more is said")
	default:
		c.warn("agent %s", s)
	}
	if a.said == nil {
		a.said = map[string]bool{}
	}
	a.said[s] = true
}
