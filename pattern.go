package robots

import (
	"strings"
	"unsafe"
)

// A Pattern is the path of a rule in the normal form of a dialect: a prefix of the path in
// which '*' matches any bytes or none, and a final '$' the end of the path (MATCH-03). In
// EscapesRFC a literal '*' or '$' is represented by another byte.
type Pattern struct {
	text      string
	weight    int32
	rewritten bool // a path with this normal form in EscapesRFC can be another text
}

// String returns a path that matches the same URLs in the dialect of the rule. Its weight can be
// another, as $ and * are escaped where they are literal.
func (p Pattern) String() string {
	if !p.rewritten {
		return p.text
	}
	return sourceForm(p.text, EscapesRFC)
}

// Pieces returns the text between the stars. A path matches if it starts with the first
// piece, which can be empty, contains the others in order and, if end is set, ends with the
// last. A '*' or '$' in a piece is literal; in EscapesRFC a path can contain it raw or
// escaped.
func (p Pattern) Pieces() (pieces []string, end bool) {
	text := p.text
	end = strings.HasSuffix(text, "$")
	if end {
		text = text[:len(text)-1]
	}
	pieces = strings.Split(text, "*")
	if p.rewritten {
		for i := range pieces {
			pieces[i] = replaceLiterals(pieces[i], "*", "$")
		}
	}
	return pieces, end
}

// match reports whether the pattern matches a path in the normal form of the same dialect.
// The leftmost occurrence of a piece is always a right choice, so it never backtracks and
// the cost is at most pattern times path.
func (p Pattern) match(path string) bool {
	pat := p.text
	star := strings.IndexByte(pat, '*')
	if star < 0 {
		if n := len(pat); n > 0 && pat[n-1] == '$' {
			return path == pat[:n-1]
		}
		return strings.HasPrefix(path, pat)
	}
	if !strings.HasPrefix(path, pat[:star]) {
		return false
	}
	path = path[star:]
	pat = pat[star+1:]
	for {
		star = strings.IndexByte(pat, '*')
		if star < 0 {
			if n := len(pat); n > 0 && pat[n-1] == '$' {
				return strings.HasSuffix(path, pat[:n-1])
			}
			return indexOf(path, pat) >= 0
		}
		i := indexOf(path, pat[:star])
		if i < 0 {
			return false
		}
		path = path[i+star:]
		pat = pat[star+1:]
	}
}

// indexOf is strings.Index. It searches for the start of a long piece first: up to that
// length strings.Index uses vector instructions on amd64, which are faster if many pieces
// nearly occur.
func indexOf(path, piece string) int {
	const vector = 63
	if len(piece) <= vector {
		return strings.Index(path, piece)
	}
	from := 0
	for range 8 {
		i := strings.Index(path[from:], piece[:vector])
		if i < 0 {
			return -1
		}
		from += i
		if strings.HasPrefix(path[from:], piece) {
			return from
		}
		from++
	}
	i := strings.Index(path[from:], piece) // linear, however often the beginning occurs
	if i < 0 {
		return -1
	}
	return from + i
}

// innerStar reports whether the pattern has a '*' that is not trailing; one before a final
// '$' is not trailing (PREC-03).
func (p Pattern) innerStar() bool {
	return strings.IndexByte(strings.TrimRight(p.text, "*"), '*') >= 0
}

// compile returns the pattern of a rule with a value. If its normal form differs from the
// value, it is appended to buf and the pattern refers to it there. The value is not empty
// (RULE-01).
func (d *Dialect) compile(value string, buf []byte) (Pattern, []byte) {
	p := Pattern{text: value, weight: int32(len(value))}
	from := len(buf)
	if d.AssumeSlash && value[0] != '/' && value[0] != '*' {
		buf = append(buf, '/')
	}
	n := d.normalLen(value)
	if n < len(value) || len(buf) > from {
		unescaped := 0
		buf = append(buf, value[:n]...)
		if d.Escapes == EscapesRFC {
			buf, unescaped = appendRFC(buf, value[n:], true)
		} else {
			buf = appendPatternGoogle(buf, value[n:], d.patternClass())
		}
		p.text = stringView(buf[from:])
		p.weight = int32(len(p.text) + 2*unescaped) // an escaped '*' or '$' weighs the three bytes of its escape (D-13)
	}
	p.weight = d.patternWeight(p)
	return p, buf
}

// normalLen returns the number of bytes at the start of a rule's value that its normal form
// keeps.
func (d *Dialect) normalLen(value string) int {
	if d.Escapes != EscapesRFC {
		return normalLen(value, d.patternClass(), false)
	}
	text := strings.TrimSuffix(value, "$") // only the last '$' is special
	if n := normalLen(text, changesPatternRFC, true); n < len(text) {
		return n
	}
	return len(value)
}

// patternClass returns the class of the bytes that EscapesGoogle or EscapesRaw can change.
func (d *Dialect) patternClass() uint8 {
	if d.Escapes == EscapesGoogle {
		return changesPatternGoogle
	}
	return changesPatternCPP
}

// appendPatternGoogle appends a pattern as the public C++ library normalizes it: bytes of
// the class escaped, hexadecimal digits in upper case, nothing decoded (PCT-05, D-43).
func appendPatternGoogle(dst []byte, s string, class uint8) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if v, ok := decodeEscape(s, i); c == '%' && ok {
			dst = appendEscaped(dst, v)
			i += 2
		} else if c != '%' && classes[c]&class != 0 {
			dst = appendEscaped(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// patternWeight returns the weight of a pattern in d.
func (d *Dialect) patternWeight(p Pattern) int32 {
	if !d.LiteralWeight {
		return p.weight
	}
	n := p.weight - int32(strings.Count(p.text, "*"))
	if strings.HasSuffix(p.text, "$") {
		n--
	}
	return n
}

// indexPage is the start of the last segment of an index page (C-06).
const indexPage = "/index.htm"

// directoryPattern returns the pattern of the directory, which an Allow of its index page adds in
// Google's dialects (C-06).
func (p Pattern) directoryPattern(buf []byte) (Pattern, []byte, bool) {
	i := strings.LastIndexByte(p.text, '/')
	if i < 0 || !strings.HasPrefix(p.text[i:], indexPage) {
		return Pattern{}, buf, false
	}
	from := len(buf)
	buf = append(buf, p.text[:i+1]...)
	buf = append(buf, '$')
	return Pattern{text: stringView(buf[from:]), weight: int32(i + 2)}, buf, true
}

// stringView returns b as a string without copying. b must not be changed afterwards.
func stringView(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// bytesOf returns s as bytes without copying; they must not be changed.
func bytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
