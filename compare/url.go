package compare

import (
	"encoding/hex"
	"strings"
	"sync"

	"github.com/robotskit/robots"
)

const (
	lowerCase  = "abcdefghijklmnopqrstuvwxyz"
	upperCase  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits     = "0123456789"
	unreserved = lowerCase + upperCase + digits + "-._~" // RFC 3986 section 2.3
	reserved   = "!$&'()*+,;=:@/?[]"                     // section 2.2, without '#'
	invalid    = "\"<>\\^`{|}"                           // not in any URI (D-14)
	upperHex   = "0123456789ABCDEF"
	anyHex     = upperHex + "abcdef"
	// A WHATWG URL parser escapes these or replaces them by '/' (URL Standard, path and
	// special-query percent-encode sets). Browsers differ for '^' in a path.
	rewrittenInPath  = "\"<>\\`{}"
	rewrittenInQuery = "\"<>'"
)

var (
	unreservedLetters = lettersOf(unreserved)
	rawLetters        = lettersOf(unreserved + reserved)
	hexLetters        = lettersOf(anyHex)
	dotLetters        = lettersOf("./?")
	// plainLetters have no meaning in a URL and are valid anywhere in it.
	plainLetters = rawLetters.andNot(dotLetters).andNot(lettersOf("'"))
	// plainOrder is the order of preference in an example.
	plainOrder = []letters{
		lettersOf(lowerCase),
		lettersOf(digits + upperCase),
		plainLetters,
	}
)

// A unit is a byte of a URL, or an escape %XX. A '%' without two hexadecimal digits is a unit
// too.
type unit struct {
	raw string
	// image is its normal form for the patterns of each side. In EscapesRFC '*' and '$' are
	// literals. Both sides use the first if they have the same normal form.
	image      [2]string
	imageBytes [2]letters // bytes of the images
	char       byte       // '/', '?', '.' (also escaped), '%' without digits, a hexadecimal digit, otherwise 0
	validIn    [2]bool    // valid in a path, and in a query
}

// A unitKey is all that matters of a unit but its length.
type unitKey struct {
	image   [2]string
	char    byte
	validIn [2]bool
}

// An alphabet is the units of the URLs that are compared.
type alphabet struct {
	forms     [2]robots.Escapes
	urls      URLs
	cross     bool // the sides have two normal forms
	octets    bool // a URL is any bytes, and '%' has no meaning
	dotFree   bool // the URLs have no dot segments
	full      bool // the URLs have no empty segments, and no slash in the query
	dots      bool // URLs with dot segments are missing, because only one side resolves them
	units     []unit
	everyUnit []int16          // the index of each unit, plus one
	known     map[unitKey]bool // units, until all are added
	// For a path and a query, the first unit, plus one, whose first image is this byte, this byte
	// as an escape, or this byte where a URL has only its escape.
	single, escape, digit [2][256]int16
}

var (
	alphabets [3 * 3 * 4]*alphabet
	making    [len(alphabets)]sync.Once
)

// alphabetOf returns the alphabet for two normal forms.
func alphabetOf(a, b robots.Escapes, urls URLs) *alphabet {
	i := int(a)*12 + int(b)*4 + int(urls)
	making[i].Do(func() { alphabets[i] = newAlphabet([2]robots.Escapes{a, b}, urls) })
	return alphabets[i]
}

func newAlphabet(forms [2]robots.Escapes, urls URLs) *alphabet {
	a := &alphabet{forms: forms, full: urls == fullURLs, cross: forms[0] != forms[1], known: map[unitKey]bool{}}
	if a.full {
		urls = NormalURLs
	}
	defer func() { a.known = nil }()
	a.urls = urls
	a.octets = !a.cross && forms[0] == robots.EscapesRaw && urls == AllURLs
	a.dotFree = urls != AllURLs || forms[0] == robots.EscapesGoogle || forms[1] == robots.EscapesGoogle
	a.dots = a.cross && a.dotFree && urls == AllURLs
	for v := 1; v < 256; v++ {
		if c := byte(v); c != '#' && (a.octets || '!' <= c && c <= '~') {
			a.add(string([]byte{c}), c, false, forms, urls)
		}
	}
	if a.octets {
		return a
	}
	for _, hi := range []byte(anyHex) {
		for _, lo := range []byte(anyHex) {
			raw := string([]byte{'%', hi, lo})
			v, _ := hex.DecodeString(raw[1:])
			a.add(raw, v[0], true, forms, urls)
		}
	}
	return a
}

// add adds a byte or its escape, unless a unit that is no longer has the same images.
func (a *alphabet) add(raw string, v byte, escaped bool, forms [2]robots.Escapes, urls URLs) {
	isUnreserved := unreservedLetters.has(v)
	u := unit{raw: raw, validIn: [2]bool{true, true}}
	switch {
	case urls == NormalURLs && (escaped && (isUnreserved || strings.ToUpper(raw) != raw) || !escaped && !rawLetters.has(v)):
		return
	case urls == BrowserURLs && !escaped:
		u.validIn = [2]bool{strings.IndexByte(rewrittenInPath, v) < 0, strings.IndexByte(rewrittenInQuery, v) < 0}
	}
	switch {
	case v == '.' && (escaped || !a.octets), !escaped && (v == '/' || v == '?'):
		u.char = v
	case !escaped && !a.octets && (v == '%' || hexLetters.has(v)):
		u.char = v
	}
	for side, form := range forms {
		if side == 1 && !a.cross {
			break
		}
		u.image[side] = imageOf(raw, v, escaped, form)
		u.imageBytes[side] = lettersOf(u.image[side])
	}
	key := unitKey{u.image, u.char, u.validIn}
	if a.known[key] || a.known[unitKey{u.image, u.char, [2]bool{true, true}}] {
		return
	}
	a.known[key] = true
	a.units = append(a.units, u)
	a.everyUnit = append(a.everyUnit, int16(len(a.units)))
	table := &a.single
	switch image := u.image[0]; {
	case len(image) == 3:
		table = &a.escape
	case escaped:
		table = &a.digit
	}
	for query, ok := range u.validIn {
		if ok && table[query][v] == 0 {
			table[query][v] = int16(len(a.units))
		}
	}
}

// imageOf returns the normal form of a unit of a URL: an octet, as written or escaped.
func imageOf(raw string, v byte, escaped bool, form robots.Escapes) string {
	switch {
	case form == robots.EscapesRaw, raw == "%":
		return raw
	case unreservedLetters.has(v), form == robots.EscapesRFC && (v == '*' || v == '$'):
		return string([]byte{v})
	case escaped || strings.IndexByte(invalid, v) >= 0:
		return string([]byte{'%', upperHex[v>>4], upperHex[v&15]})
	}
	return raw
}

// spell appends a URL for the whole units of a head, and returns their number of bytes in the head and the
// place after them. It returns false if no URL begins with the head.
func (a *alphabet) spell(to []byte, head string) (raw []byte, n int, at position, ok bool) {
	at = positionStart
	if a.full {
		at = positionOther // before the first slash, which ends no segment
	}
	for n < len(head) {
		c := head[n]
		size := 1
		id := int16(0)
		query := at.query()
		if c == '%' && !a.octets {
			if n+3 > len(head) {
				break
			}
			hi := strings.IndexByte(upperHex, head[n+1])
			lo := strings.IndexByte(upperHex, head[n+2])
			if hi >= 0 && lo >= 0 {
				id = a.escape[query][hi<<4|lo]
				if id > 0 {
					size = 3
				}
			}
		}
		if id == 0 {
			id = a.single[query][c]
		}
		next, ok := a.follow(at, id)
		if !ok {
			id = a.digit[query][c]
			next, ok = a.follow(at, id)
		}
		if !ok {
			return nil, 0, 0, false
		}
		to = append(to, a.units[id-1].raw...)
		at = next
		n = n + size
	}
	return to, n, at, true
}

// A position is a place in a URL: in a segment of its path, which must not become "." or ".." (RFC
// 3986 section 5.2.4), or in its query. To this it adds positionPercent for each byte since a '%'
// that must not become an escape.
type position uint8

const (
	positionStart position = iota // of a segment
	positionDot                   // the segment is "."
	positionDots                  // the segment is ".."
	positionOther                 // the segment is another
	positionQuery                 // in the query, where dots have no meaning

	positionPercent position = 8
)

// follow returns the place after a unit, given by its index plus one. It returns false if the
// unit is not possible there.
func (a *alphabet) follow(at position, id int16) (position, bool) {
	if id == 0 || !a.units[id-1].validIn[at.query()] {
		return 0, false
	}
	u := &a.units[id-1]
	open := at / positionPercent
	at = at % positionPercent
	switch c := u.char; {
	case c == '%':
		open = 1
	case open > 0 && hexLetters.has(c):
		open++
		if open > 2 {
			return 0, false
		}
	default:
		open = 0
	}
	switch {
	case a.full && at == positionQuery && u.char == '/':
		return 0, false
	case at == positionQuery || !a.dotFree:
	case u.char == '.' && at < positionOther:
		at++
	case u.char == '/' || u.char == '?':
		if !at.ends() || a.full && u.char == '/' && at == positionStart {
			return 0, false
		}
		at = positionStart
		if u.char == '?' {
			at = positionQuery
		}
	default:
		at = positionOther
	}
	return open*positionPercent + at, true
}

// ends reports whether the URL can end here.
func (p position) ends() bool {
	p %= positionPercent
	return p != positionDot && p != positionDots
}

// query is 1 in a query and 0 in a path.
func (p position) query() int {
	if p%positionPercent == positionQuery {
		return 1
	}
	return 0
}

// isPlain reports whether a path consists of plain letters and of segments that are not empty.
func isPlain(path string) bool {
	slash := false
	for _, c := range []byte(path) {
		if c != '/' && !plainLetters.has(c) || c == '/' && slash {
			return false
		}
		slash = c == '/'
	}
	return strings.HasPrefix(path, "/")
}

// isOf reports whether a path and query is one of a set of URLs in normal form.
func isOf(urls URLs, path string) bool {
	if urls == NormalURLs && isPlain(path) {
		return true
	}
	a := alphabetOf(robots.EscapesRaw, robots.EscapesRaw, urls)
	var few [64]byte
	_, n, at, ok := a.spell(few[:0], path)
	return ok && n == len(path) && at.ends()
}
