package page

import (
	"strings"
	"sync"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

// directory returns the crawlers of the directory that are in use, by their names in lower case.
var directory = sync.OnceValue(func() map[string]crawlers.Crawler {
	m := map[string]crawlers.Crawler{}
	for _, c := range crawlers.All() {
		m[strings.ToLower(c.Name)] = c
	}
	return m
})

// known returns the crawler with a name from a file, in its documented dialect, or else the standard's.
func known(name string) crawler {
	if c, ok := directory()[strings.ToLower(name)]; ok {
		return crawler{c.ReadAs(), c.Tokens}
	}
	return crawler{robots.RFC9309, []string{name}}
}

// dialects lists the dialects and the crawlers of the directory.
func dialects(w *writer, _ []string) string {
	w.list("dialects")
	for _, d := range robots.Dialects() {
		w.value(d.Name)
	}
	w.close(']')
	w.list("crawlers")
	for _, c := range crawlers.All() {
		w.open('{')
		w.text("dialect", c.ReadAs().Name)
		w.texts("tokens", c.Tokens)
		w.text("operator", c.Operator)
		w.text("purpose", string(c.Purpose))
		w.text("obeys", string(c.Obeys))
		w.yes("token_only", c.Status == crawlers.OptOut || c.Status == crawlers.Token)
		w.close('}')
	}
	w.close(']')
	return ""
}
