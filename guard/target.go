package guard

import (
	"path"
	"strings"

	"github.com/robotskit/robots"
)

// A target is a request target as it is, and as a server maps it to a page.
type target struct {
	path    robots.Path
	served  robots.Path
	changes bool // served differs from path
}

// anyTarget is the target of OPTIONS for the whole server.
const anyTarget = "*"

// parseTarget parses a request target. It returns false if that is invalid.
func parseTarget(text string) (t target, valid bool) {
	if text == anyTarget {
		return t, true
	}
	var err error
	if strings.HasPrefix(text, "//") {
		t.path, err = robots.ParsePath("http://host.invalid" + text) // otherwise what follows is a host
	} else {
		t.path, err = robots.ParsePath(text)
	}
	if err != nil {
		return t, false
	}
	raw := t.path.String()
	t.served = t.path
	if strings.Contains(raw, "%") || strings.Contains(raw, "//") || strings.Contains(raw, "/.") {
		if served := servedPath(raw); served != raw {
			t.served, err = robots.ParsePath(served)
			t.changes = true
		}
	}
	return t, err == nil
}

// exempt reports whether a target is open to all crawlers: robots.txt with any query, what is
// below /.well-known/, and no page at all.
func (t *target) exempt() bool {
	if t.path == (robots.Path{}) {
		return true
	}
	name, _, _ := strings.Cut(t.path.String(), "?")
	const wellKnown = "/.well-known/"
	return name == "/robots.txt" || strings.HasPrefix(name, wellKnown) && strings.HasPrefix(t.served.String(), wellKnown)
}

// servedPath returns a path as nginx and Caddy map it to a page: escapes are decoded once, repeated
// slashes are one, and segments of dots are resolved. The query stays.
func servedPath(raw string) string {
	name, query, hasQuery := strings.Cut(raw, "?")
	decoded := decode(name)
	served := path.Clean(decoded)
	last := decoded[strings.LastIndexByte(decoded, '/')+1:]
	if served != "/" && (last == "" || last == "." || last == "..") {
		served += "/"
	}
	served = escapeDelimiters.Replace(served)
	if hasQuery {
		served += "?" + query
	}
	return served
}

// escapeDelimiters escapes what would end a path or begin an escape.
var escapeDelimiters = strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23")

// decode replaces the escapes of a path. Malformed ones stay.
func decode(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	decoded := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '%' && i+2 < len(name) {
			high := unhex(name[i+1])
			low := unhex(name[i+2])
			if high < 16 && low < 16 {
				c = high<<4 | low
				i += 2
			}
		}
		decoded = append(decoded, c)
	}
	return string(decoded)
}

// unhex returns the value of a hexadecimal digit, 16 for other bytes.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}
