package crawlers

import (
	"strings"

	"github.com/robotskit/robots"
)

// DialectOf returns the documented dialect of a crawler: of the first of its tokens with a
// known dialect. Tokens can be User-Agent headers (robots.ProductTokens). It returns false if
// no token has one; use robots.RFC9309 then. It does not decode the directory.
func DialectOf(tokens ...string) (robots.Dialect, bool) {
	for _, value := range tokens {
		if d, ok := dialectOfName(value); ok {
			return d, true
		}
		for _, token := range robots.ProductTokens(value) {
			if d, ok := dialectOfName(token); ok {
				return d, true
			}
		}
	}
	return robots.Dialect{}, false
}

func dialectOfName(name string) (robots.Dialect, bool) {
	if d, ok := knownDialects[strings.ToLower(strings.TrimSpace(name))]; ok {
		return robots.DialectByName(d)
	}
	return robots.Dialect{}, false
}
