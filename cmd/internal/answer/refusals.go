package answer

import (
	"slices"
	"strings"

	"github.com/robotskit/robots/crawlers"
)

// Refusals are the crawlers that a robots.txt blocks everywhere, for the configuration of a web server that
// refuses them by their User-Agent.
type Refusals struct {
	Names []string // in their User-Agent headers
	// Except are names of other crawlers that contain one of these: Yahoo! Slurp, if Slurp is blocked.
	Except    []string
	Named     []string // other crawlers with a group of their own that blocks a part
	Others    int      // other crawlers for which * blocks a part
	Undecided []string // crawlers whose access was not proved
}

// NewRefusals returns those of some crawlers, of which the table is the access. They are proved to have
// none, the file binds them, and their name is sent in requests.
func NewRefusals(who []crawlers.Crawler, table []CrawlerAccess) *Refusals {
	r := &Refusals{}
	blocked := map[string]bool{}
	for i, c := range who {
		row := &table[i]
		binds := c.Binds()
		switch {
		case !isSent(&c) || binds == crawlers.BindsNo || binds == crawlers.BindsNotByStar && !row.Named():
		case row.Access == AccessNone:
			blocked[c.Name] = true
			r.Names = append(r.Names, headerNames(&c)...)
		case row.Access == AccessPart && row.Named():
			r.Named = append(r.Named, c.Name)
		case row.Access == AccessPart:
			r.Others++
		case row.Access != AccessAll:
			r.Undecided = append(r.Undecided, c.Name)
		}
	}
	for _, c := range crawlers.All() {
		if !isSent(&c) || blocked[c.Name] {
			continue
		}
		for _, name := range headerNames(&c) {
			if slices.ContainsFunc(r.Names, func(inner string) bool { return containsName(name, inner) }) {
				r.Except = append(r.Except, name)
			}
		}
	}
	return r
}

// isSent reports whether requests can have the name of a crawler.
func isSent(c *crawlers.Crawler) bool {
	return c.Status != crawlers.OptOut && c.Status != crawlers.Token && c.Status != crawlers.Mistake
}

// headerNames returns the names that crawlers.Sender takes for a crawler.
func headerNames(c *crawlers.Crawler) (names []string) {
	for _, token := range c.Tokens {
		if found, ok := crawlers.Find(token); ok && found.Name == c.Name {
			names = append(names, token)
		}
	}
	return names
}

// containsName reports whether a name contains another one as some of its words.
func containsName(name, inner string) bool {
	return strings.Contains(" "+strings.ToLower(name)+" ", " "+strings.ToLower(inner)+" ")
}
