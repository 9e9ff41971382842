package robots

import "strings"

// A Path is the raw path and query of a URL. It starts with '/', except for the zero value,
// which no rules allow (D-56). Rules normalize it as their dialect does.
type Path struct{ raw string }

// String returns the raw bytes.
func (p Path) String() string { return p.raw }

// RawPath returns the path to match of any string, as the public C++ library does, for
// GoogleCPP (C-17). A string without a path has the path "/".
func RawPath(s string) Path {
	start := 0
	if strings.HasPrefix(s, "//") {
		start = 2
	}
	from := start
	if i := strings.Index(s[start:], "://"); i >= 0 && !strings.ContainsAny(s[start:start+i], "/?;") {
		from = start + i + 3
	}
	i := strings.IndexAny(s[from:], "/?;")
	if i < 0 {
		return Path{"/"}
	}
	path := s[from+i:]
	if j := strings.IndexByte(s[start:], '#'); j >= 0 {
		if start+j < from+i {
			return Path{"/"}
		}
		path = s[from+i : start+j]
	}
	if j := strings.IndexByte(path, 0); j >= 0 {
		path = path[:j] // a C string in the library
	}
	if path[0] != '/' {
		path = "/" + path
	}
	return Path{path}
}

// newPath returns the Path of a URL from the end of its authority.
func newPath(s string) Path {
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s = s[:i]
	}
	if s == "" {
		return Path{"/"} // D-15
	}
	if s[0] != '/' {
		return Path{"/" + s}
	}
	return Path{s}
}

// Classes of bytes. A path or pattern with a byte of a class named "changes" can differ from its
// normal form.
const (
	isUnreserved = 1 << iota // A-Z a-z 0-9 - . _ ~ (RFC 3986 section 2.3)
	// changesPathRFC is for paths in EscapesRFC.
	changesPathRFC
	// changesPathGoogle is for paths in EscapesGoogle: '%', and the bytes that are invalid in
	// URIs: 0x80 and above, blanks, controls, and "<>\^{}`| (D-14).
	changesPathGoogle
	changesPatternRFC    // for patterns in EscapesRFC
	changesPatternGoogle // for patterns in EscapesGoogle
	changesPatternCPP    // for patterns in EscapesRaw
	isPlain              // the same in paths and patterns of all normal forms
	splitsTokens         // not part of a product token (D-03)
)

// classes holds the classes of each byte.
var classes = func() (t [256]uint8) {
	for c := range 256 {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if c < 0x80 && (letter || '0' <= c && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~' {
			t[c] |= isUnreserved
		}
		if c <= ' ' || c >= 0x7F || strings.IndexByte("\"<>\\^{}`|", byte(c)) >= 0 {
			t[c] |= changesPathRFC | changesPathGoogle | changesPatternRFC
			if c > ' ' && c != 0x7F {
				t[c] |= changesPatternGoogle // blanks and controls stay raw there (D-43)
			}
		}
		if c >= 0x80 {
			t[c] |= changesPatternCPP
		}
	}
	for _, c := range " \t(),/" {
		t[c] |= splitsTokens
	}
	t['%'] |= changesPathRFC | changesPathGoogle | changesPatternRFC | changesPatternGoogle | changesPatternCPP
	t['*'] |= changesPathRFC
	t['$'] |= changesPathRFC | changesPatternRFC
	for c := range t {
		if t[c]&changesPathRFC == 0 && c != '#' { // which begins a comment
			t[c] |= isPlain
		}
	}
	return t
}()

// hasNone reports whether s has no byte of the class.
func hasNone(s string, class uint8) bool {
	if len(s) < 8 {
		for i := range len(s) {
			if classes[s[i]]&class != 0 {
				return false
			}
		}
		return true
	}
	// One test for eight bytes. The last eight can overlap those before.
	for i := 0; ; i += 8 {
		i = min(i, len(s)-8)
		w := s[i : i+8]
		if (classes[w[0]]|classes[w[1]]|classes[w[2]]|classes[w[3]]|
			classes[w[4]]|classes[w[5]]|classes[w[6]]|classes[w[7]])&class != 0 {
			return false
		}
		if i == len(s)-8 {
			return true
		}
	}
}

// plainLen returns the number of bytes at the start of s that every normal form keeps, in
// paths and patterns.
func plainLen(s string) int {
	n := 0
	for n+8 <= len(s) {
		w := s[n : n+8]
		if classes[w[0]]&classes[w[1]]&classes[w[2]]&classes[w[3]]&
			classes[w[4]]&classes[w[5]]&classes[w[6]]&classes[w[7]]&isPlain == 0 {
			break
		}
		n += 8
	}
	for n < len(s) && classes[s[n]]&isPlain != 0 {
		n++
	}
	return n
}

// mayHaveDotSegments reports whether a path might have dot segments.
func mayHaveDotSegments(s string) bool { return strings.Contains(s, "/.") }

// normalize returns p in the dialect's normal form. It allocates only if p changes
// and does not fit into buf.
func (d *Dialect) normalize(p Path, buf []byte) string {
	switch d.Escapes {
	case EscapesRFC:
		if n := normalLen(p.raw, changesPathRFC, true); n < len(p.raw) {
			path, _ := appendRFC(append(buf[:0], p.raw[:n]...), p.raw[n:], false)
			return stringView(path)
		}
	case EscapesGoogle:
		if !hasNone(p.raw, changesPathGoogle) || mayHaveDotSegments(p.raw) {
			return stringView(appendGoogle(buf[:0], p.raw))
		}
	}
	return p.raw
}

// A target is a path to match with rules.
type target struct {
	path string // in normal form
	raw  string // the path before normalization, if that only escapes bytes, else ""
}

// target returns p as a target, and allocates as normalize does.
func (d *Dialect) target(p Path, buf []byte) target {
	t := target{path: d.normalize(p, buf)}
	dots := d.Escapes == EscapesGoogle && mayHaveDotSegments(p.raw)
	if len(t.path) > len(p.raw) && strings.IndexByte(p.raw, '%') < 0 && !dots && !d.AssumeSlash {
		t.raw = p.raw
	}
	return t
}

// excludes reports whether the raw path shows that the rule of a value does not match: it has a third of
// the bytes if all are escaped. A rule without an escape that does not match it does not match
// the normal form either, unless startsInEscape.
func (t target) excludes(value string) bool {
	return t.raw != "" && strings.IndexByte(value, '%') < 0 && !startsInEscape(value) && !(Pattern{text: value}).match(t.raw)
}

// startsInEscape reports whether text after a star begins with a hexadecimal digit in upper case, and so
// can match from within an escape of a normal form on.
func startsInEscape(pattern string) bool {
	for i := 1; i < len(pattern); i++ {
		if c := pattern[i]; pattern[i-1] == '*' && ('0' <= c && c <= '9' || 'A' <= c && c <= 'F') {
			return true
		}
	}
	return false
}

// In EscapesRFC these bytes stand for a literal '*' and '$', raw or escaped, so that every
// other '*' and '$' of a pattern is special (RFC 9309 section 2.2.3, PCT-03). With %2A and %24
// instead, "/*%" would match a path with a raw '*'.
const (
	literalStar   = 1
	literalDollar = 2
)

// appendRFC appends a path or a pattern in the form of D-14: bytes that are invalid in URIs
// escaped, unreserved characters decoded, hexadecimal digits in upper case. Other escapes
// are kept, except of '*' and '$', whose number it returns.
func appendRFC(dst []byte, s string, pattern bool) (_ []byte, unescaped int) {
	class := uint8(changesPathRFC)
	if pattern {
		class = changesPatternRFC
	}
	for i := 0; ; i++ {
		for i < len(s) && classes[s[i]]&class == 0 {
			dst = append(dst, s[i])
			i++
		}
		if i >= len(s) {
			return dst, unescaped
		}
		c := s[i]
		escaped := false
		if c == '%' {
			c, escaped = decodeEscape(s, i)
			if !escaped {
				dst = append(dst, '%')
				continue
			}
			i += 2
		}
		switch {
		case c == '*' || c == '$':
			if !escaped && pattern && i == len(s)-1 { // a '$' at the end is special
				dst = append(dst, c)
				continue
			}
			literal := byte(literalStar)
			if c == '$' {
				literal = literalDollar
			}
			dst = append(dst, literal)
			if escaped {
				unescaped++
			}
		case escaped && classes[c]&isUnreserved == 0, classes[c]&changesPathGoogle != 0:
			dst = appendEscaped(dst, c)
		default:
			dst = append(dst, c)
		}
	}
}

// normalLen returns the number of bytes at the start of s that a normal form keeps: those
// outside the class, and upper-case escapes, except of unreserved characters if it decodes
// these.
func normalLen(s string, class uint8, decodes bool) int {
	if hasNone(s, class) {
		return len(s)
	}
	for i := 0; i < len(s); i++ {
		if classes[s[i]]&class == 0 {
			continue
		}
		if s[i] != '%' {
			return i
		}
		if v, ok := decodeEscape(s, i); ok {
			if decodes && isDecoded(v) || lowerHex(s[i+1]) || lowerHex(s[i+2]) {
				return i
			}
			i += 2
		}
	}
	return len(s)
}

// isDecoded reports whether EscapesRFC has no escape of v.
func isDecoded(v byte) bool { return classes[v]&isUnreserved != 0 || v == '*' || v == '$' }

// sourceForm returns a text whose normal form is s. Where three bytes would be decoded, such as
// "%2A" from "%2%41", the last of them is escaped.
func sourceForm(s string, escapes Escapes) string {
	if escapes != EscapesRFC {
		return s // these normal forms have no bytes with another meaning
	}
	var dst []byte
	from := 0
	for i := 0; i+2 < len(s); i++ {
		next := strings.IndexByte(s[i:], '%')
		if next < 0 {
			break
		}
		i += next
		if v, ok := decodeEscape(s, i); ok && (isDecoded(v) || lowerHex(s[i+1]) || lowerHex(s[i+2])) {
			dst = appendEscaped(append(dst, s[from:i+2]...), s[i+2])
			from = i + 3
			i += 2
		}
	}
	if from > 0 {
		s = stringView(append(dst, s[from:]...))
	}
	return replaceLiterals(s, "%2A", "%24")
}

// lowerHex reports whether a hexadecimal digit is in lower case.
func lowerHex(c byte) bool { return c >= 'a' }

// replaceLiterals replaces a literal '*' and a literal '$' in s.
func replaceLiterals(s, star, dollar string) string {
	if strings.IndexByte(s, literalStar) < 0 && strings.IndexByte(s, literalDollar) < 0 {
		return s
	}
	return strings.NewReplacer("\x01", star, "\x02", dollar).Replace(s)
}

// appendGoogle appends a path in the form of RFC 3986 section 6.2.2 (D-43).
func appendGoogle(dst []byte, s string) []byte {
	from := len(dst)
	query := -1
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%':
			v, ok := decodeEscape(s, i)
			if ok && classes[v]&isUnreserved != 0 {
				dst = append(dst, v)
				i += 2
			} else if ok {
				dst = appendEscaped(dst, v)
				i += 2
			} else {
				dst = append(dst, c)
			}
		case classes[c]&changesPathGoogle != 0:
			dst = appendEscaped(dst, c)
		case c == '?' && query < 0:
			query = len(dst) - from
			dst = append(dst, c)
		default:
			dst = append(dst, c)
		}
	}
	path := dst[from:]
	if query >= 0 {
		path = path[:query]
	}
	n := removeDots(path)
	if n < len(path) {
		dst = append(dst[:from+n], dst[from+len(path):]...)
	}
	return dst
}

// removeDots resolves "." and ".." segments of b, which begins with '/', in
// place and returns the new length (RFC 3986 section 5.2.4).
func removeDots(b []byte) int {
	w := 0 // b[:w] is the output
	for i := 0; i < len(b); {
		j := i + 1 // b[i] is '/'; the segment is b[i+1:j]
		for j < len(b) && b[j] != '/' {
			j++
		}
		seg := b[i+1 : j]
		last := j == len(b)
		switch {
		case string(seg) == ".":
			if last {
				b[w] = '/'
				w++
			}
		case string(seg) == "..":
			for w > 0 && b[w-1] != '/' {
				w--
			}
			if w > 0 {
				w--
			}
			if last {
				b[w] = '/'
				w++
			}
		default:
			w += copy(b[w:], b[i:j])
		}
		i = j
	}
	return w
}

// decodeEscape decodes the %XX at s[i:].
func decodeEscape(s string, i int) (v byte, ok bool) {
	if i+2 >= len(s) {
		return 0, false
	}
	hi := unhex(s[i+1])
	lo := unhex(s[i+2])
	if hi|lo > 15 {
		return 0, false
	}
	return hi<<4 | lo, true
}

// unhex returns the value of a hexadecimal digit, 0xFF if c is none.
func unhex(c byte) byte { return hexDigits[c] - 1 }

// hexDigits holds the value of each hexadecimal digit plus one.
var hexDigits = [256]byte{
	'0': 1, '1': 2, '2': 3, '3': 4, '4': 5, '5': 6, '6': 7, '7': 8, '8': 9, '9': 10,
	'A': 11, 'B': 12, 'C': 13, 'D': 14, 'E': 15, 'F': 16,
	'a': 11, 'b': 12, 'c': 13, 'd': 14, 'e': 15, 'f': 16,
}

const upperHex = "0123456789ABCDEF"

func appendEscaped(dst []byte, c byte) []byte {
	return append(dst, '%', upperHex[c>>4], upperHex[c&15])
}
