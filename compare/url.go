package compare

// The URLs that are compared: see the package comment.

const (
	lowerCase  = "abcdefghijklmnopqrstuvwxyz"
	upperCase  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits     = "0123456789"
	unreserved = lowerCase + upperCase + digits + "-._~" // RFC 3986 section 2.3
	reserved   = "!$&'()*+,;=:@/?[]"                     // of its section 2.2, without '#'
	upperHex   = "0123456789ABCDEF"
)

var (
	rawLetters = lettersOf(unreserved + reserved) // what a URL may hold as it is
	dotLetters = lettersOf("./?")                 // what moves dots
	// plainLetters are the others.
	plainLetters = rawLetters.andNot(dotLetters)
	// plainOrder are they in the order in which a reader likes them in an
	// example.
	plainOrder = []letters{
		lettersOf(lowerCase),
		lettersOf(digits + upperCase),
		plainLetters,
	}
)

// escapes reports whether %XX with these digits stands in the URLs compared.
func escapes(hi, lo byte) bool {
	v, ok := unescape(hi, lo)
	return ok && !(v < 0x80 && unreservedLetters.has(v))
}

var unreservedLetters = lettersOf(unreserved)

func unescape(hi, lo byte) (v byte, ok bool) {
	h, l := hexValue(hi), hexValue(lo)
	return h<<4 | l, h < 16 && l < 16
}

func hexValue(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xFF
}

// dots is where a path stands with respect to dot segments, which no client
// sends (RFC 3986 section 5.2.4).
type dots uint8

const (
	dotsStart dots = iota // of a segment
	dotsOne               // the segment is "."
	dotsTwo               // the segment is ".."
	dotsOther             // the segment is another
	dotsQuery             // in the query, where dots mean nothing
)

// step returns where the path stands after a byte, and false if no client sends
// that: a dot segment has ended.
func (d dots) step(c byte) (dots, bool) {
	if d == dotsQuery {
		return d, true
	}
	switch c {
	case '/':
		return dotsStart, d.ends()
	case '?':
		return dotsQuery, d.ends()
	case '.':
		if d < dotsOther {
			return d + 1, true
		}
	}
	return dotsOther, true
}

// ends reports whether the segment may end here.
func (d dots) ends() bool { return d != dotsOne && d != dotsTwo }
