package ask

import (
	"slices"
	"strings"
	"unicode"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

// A Mention is what a person means who types a crawler: product tokens with commas, most specific first, a User-Agent header, or
// the name that people use, such as Bing.
type Mention struct {
	Tokens  []string `json:"tokens"`  // product tokens as typed
	Name    string   `json:"name"`    // of the directory, "" if it has none
	Browser bool     `json:"browser"` // the header of a browser, which names no crawler
	Similar []string `json:"similar"` // names of the directory that are probably meant, the most probable first
}

// ReadMention reads what is typed for a crawler. An invalid list of tokens is an error.
func ReadMention(text string) (m Mention, err error) {
	m = Mention{Similar: []string{}}
	text = strings.TrimSpace(text)
	if m.Tokens, err = Tokens(text); err != nil || len(m.Tokens) > 1 {
		return m, err
	}
	if strings.ContainsAny(text, "/(") {
		if c, known := crawlers.Sender(text); known {
			m.Name = c.Name
		} else {
			m.Browser = isBrowser(text)
		}
		return m, nil
	}
	c, known := crawlers.Find(text)
	isName := !strings.Contains(text, " ") || strings.EqualFold(c.Name, text) // of several words, one can be another crawler's token
	if known && isName && c.Status != crawlers.Mistake {
		m.Name = c.Name
		return m, nil
	}
	m.Similar = similarCrawlers(text)
	return m, nil
}

// browserTokens are the product tokens in headers of browsers, in lower case.
var browserTokens = []string{
	"applewebkit", "chrome", "crios", "edg", "edga", "edgios", "firefox", "fxios", "gecko", "khtml", "like", "mobile", "mozilla", "opera", "opr", "presto",
	"safari", "samsungbrowser", "version", "vivaldi", "yabrowser",
}

// isBrowser reports whether all tokens of a header outside its comments are those of browsers.
func isBrowser(header string) bool {
	depth := 0
	products := strings.Map(func(r rune) rune {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
			return ' '
		}
		if depth > 0 {
			return -1
		}
		return r
	}, header)
	for product := range strings.FieldsSeq(products) {
		name, _, _ := strings.Cut(strings.ToLower(product), "/")
		if !slices.Contains(browserTokens, name) {
			return false
		}
	}
	return len(robots.ProductTokens(products)) > 0
}

// How a name resembles what is typed, the closest first.
const (
	sameLetters = iota
	oneEdit
	sameBeginning
	sameWords
	sameOperator
	sameMiddle
	notSimilar
)

// mostSimilar limits the names that are suggested.
const mostSimilar = 4

// similarCrawlers returns the names of crawlers in use that a name resembles: by its letters, by its words, or by the words of
// the operator. The other crawlers of the operator for models follow, since people use one name for all of them.
func similarCrawlers(text string) []string {
	const least = 3 // letters: shorter names are part of too many
	typed := letters(text)
	if len(typed) < least {
		return []string{}
	}
	var ranked [notSimilar][]crawlers.Crawler
	for _, c := range crawlers.All() {
		if rank := similarity(text, typed, c); rank < notSimilar && !idle(c) {
			ranked[rank] = append(ranked[rank], c)
		}
	}
	names := []string{}
	add := func(c crawlers.Crawler) {
		if len(names) < mostSimilar && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	similar := slices.Concat(ranked[:]...)
	for _, c := range similar {
		add(c)
	}
	for _, c := range crawlers.All() {
		if len(similar) > 0 && c.Purpose.IsAI() && similar[0].Purpose.IsAI() && c.Operator == similar[0].Operator && !idle(c) {
			add(c)
		}
	}
	return names
}

func similarity(text, typed string, c crawlers.Crawler) int {
	name := letters(c.Name)
	wanted := strings.Fields(words(text))
	has := func(where string) bool {
		return !slices.ContainsFunc(wanted, func(word string) bool { return !strings.Contains(where, word) })
	}
	switch {
	case name == typed:
		return sameLetters
	case len(typed) > 4 && Edits(typed, name) == 1:
		return oneEdit
	case strings.HasPrefix(name, typed):
		return sameBeginning
	case len(wanted) > 1 && has(strings.ToLower(c.Name)):
		return sameWords
	case has(words(c.Operator)), len(wanted) > 1 && has(words(c.Operator)+strings.ToLower(c.Name)):
		return sameOperator
	case strings.Contains(name, typed):
		return sameMiddle
	}
	return notSimilar
}

// letters returns the letters and digits of a name in lower case.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}
