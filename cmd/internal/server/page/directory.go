package page

import (
	_ "embed" // the table of crawlers
	"strings"
	"sync"

	"github.com/robotskit/robots"
)

// table is the directory of crawlers (package crawlers) in a thirtieth of its
// size, which a browser has room for: a line for each, its dialect and its tokens
// with tabs between them. TestTable writes it.
//
//go:embed crawlers.txt
var table string

// directory is the table by the crawlers' names in lower case.
var directory = sync.OnceValue(func() map[string]crawler {
	m := map[string]crawler{}
	for line := range strings.Lines(table) {
		if c, wrong := readCrawler(strings.TrimSpace(line)); wrong == "" && len(c.tokens) > 0 {
			m[strings.ToLower(c.tokens[0])] = c
		}
	}
	return m
})

// known returns the crawler of a name that a file has, with the dialect it reads
// files in: the standard's where nobody says.
func known(name string) crawler {
	if c, ok := directory()[strings.ToLower(name)]; ok {
		return c
	}
	return crawler{robots.RFC9309, []string{name}}
}

// dialects names the dialects, and the crawlers of the table.
func dialects(w *writer, _ []string) string {
	w.list("dialects")
	for _, d := range robots.Dialects() {
		w.value(d.Name)
	}
	w.close(']')
	w.list("crawlers")
	for line := range strings.Lines(table) {
		if c, wrong := readCrawler(strings.TrimSpace(line)); wrong == "" {
			w.open('{')
			w.text("dialect", c.dialect.Name)
			w.texts("tokens", c.tokens)
			w.close('}')
		}
	}
	w.close(']')
	return ""
}
