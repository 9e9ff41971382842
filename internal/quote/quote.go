// Package quote writes text that other programs or a terminal read.
package quote

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// Append appends s as a JSON string, as encoding/json writes it without escapes for HTML, but
// with U+FFFD for each byte that is not UTF-8, and with escapes for characters that Controls reports.
func Append(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if IsPlain(s) && strings.IndexByte(s, '"') < 0 && strings.IndexByte(s, '\\') < 0 { // as nearly all
		return append(append(dst, s...), '"')
	}
	from := 0
	for i := 0; i < len(s); {
		u := rune(s[i])
		size := 1
		if u >= utf8.RuneSelf {
			u, size = utf8.DecodeRuneInString(s[i:])
		}
		if ' ' <= u && u < 0x7F && u != '"' && u != '\\' || u >= utf8.RuneSelf && !Controls(u) && (u != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		dst = append(dst, s[from:i]...)
		switch u {
		case '"', '\\':
			dst = append(dst, '\\', byte(u))
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case utf8.RuneError:
			dst = append(dst, "\uFFFD"...)
		default:
			for _, unit := range utf16.AppendRune(make([]uint16, 0, 2), u) {
				dst = append(dst, '\\', 'u', hex[unit>>12], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
			}
		}
		i += size
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// IsPlain reports whether s is printable ASCII.
func IsPlain(s string) bool {
	const ones = 0x0101010101010101
	for i := 0; len(s) >= 8; i += 8 { // the last eight can overlap those before
		i = min(i, len(s)-8)
		w := s[i : i+8]
		eight := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56 // compiled to one load
		if (eight|(eight-' '*ones)|(eight+ones))&(0x80*ones) != 0 { // some byte is above 0x7F, below a space or DEL
			return false
		}
		if i == len(s)-8 {
			return true
		}
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Controls reports whether a character controls a terminal, ends a line, or hides or reorders the
// text around it.
func Controls(u rune) bool {
	if u < 0x7F {
		return u < ' '
	}
	return u < 0xA0 || u == 0x2028 || u == 0x2029 || unicode.Is(unicode.Cf, u)
}
