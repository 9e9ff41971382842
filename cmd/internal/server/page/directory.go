package page

import (
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/crawlers"
)

// known returns the crawler with a name from a file as the dialect auto means it,
// spelled as in the directory.
func known(name string) crawler {
	if c, ok := crawlers.Find(name); ok && strings.EqualFold(name, c.Name) {
		name = c.Name
	}
	return crawler{answer.Auto(name, name)}
}

// dialects returns the names of the dialects, and the crawlers of the directory.
func dialects(*budget.Budget, []string) (any, error) {
	names, entries := []string{}, []object{}
	for _, d := range robots.Dialects() {
		names = append(names, d.Name)
	}
	for _, c := range crawlers.All() {
		entries = append(entries, object{
			"dialect": c.ReadAs().Name, "tokens": list(c.Tokens), "operator": c.Operator, "purpose": c.Purpose, "obeys": c.Obeys,
			"token_only": c.Status == crawlers.OptOut || c.Status == crawlers.Token,
		})
	}
	return object{"dialects": names, "crawlers": entries}, nil
}
