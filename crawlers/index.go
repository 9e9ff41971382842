package crawlers

import (
	_ "embed"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
)

//go:embed directory.json
var directory string

// An entryIndex finds entries by name, and decodes only these. It relies on the layout of
// directory.json (TestLayout).
type entryIndex struct {
	entries []indexEntry
	byName  map[string]int // names, spellings, and tokens that are no other entry's name, in lower case
}

type indexEntry struct {
	text    string // JSON
	decoded atomic.Pointer[Crawler]
}

var index = sync.OnceValue(func() *entryIndex {
	count := strings.Count(directory, "\n  {\n")
	x := &entryIndex{entries: make([]indexEntry, count), byName: make(map[string]int, 2*count)}
	rest := directory
	for i := range x.entries {
		start := strings.Index(rest, "\n  {\n") + len("\n")
		length := strings.Index(rest[start:], "\n  }") + len("\n  }")
		x.entries[i].text = rest[start : start+length]
		rest = rest[start+length:]
	}
	further := map[string]int{}
	for i := range x.entries {
		tokens := x.entries[i].list("tokens")
		x.byName[strings.ToLower(tokens[0])] = i
		for _, spelling := range x.entries[i].list("spellings") {
			x.byName[strings.ToLower(spelling)] = i
		}
		for _, token := range tokens[1:] {
			further[strings.ToLower(token)] = i
		}
	}
	for token, i := range further {
		if _, ok := x.byName[token]; !ok {
			x.byName[token] = i
		}
	}
	return x
})

// list returns the strings of a member, which need no escapes (TestDirectory).
func (e *indexEntry) list(member string) (list []string) {
	_, value, ok := strings.Cut(e.text, "    \""+member+"\": [\"")
	if !ok {
		return nil
	}
	value, _, _ = strings.Cut(value, "\"]")
	return strings.Split(value, "\", \"")
}

// entry returns an entry, which must not be changed.
func (x *entryIndex) entry(i int) *Crawler {
	e := &x.entries[i]
	c := e.decoded.Load()
	if c == nil {
		c = new(Crawler)
		if err := json.Unmarshal([]byte(e.text), c); err != nil {
			panic("crawlers: directory.json: " + err.Error()) // TestDirectory
		}
		e.decoded.Store(c)
	}
	return c
}
