package batch

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// The functions of this file take a JSON text apart and find in the same pass whether
// it is one. They exist because a body of many megabytes should not be read by
// encoding/json, copied and read again for each of its members, and because
// encoding/json folds the letter case of names. What is JSON is what encoding/json
// takes for it (FuzzMembers).

// eachMember calls f with the texts of name and value of every member of an object in
// order, up to the first fault of the text. It reports whether the text is an object,
// and whether it is JSON.
func eachMember(text []byte, f func(name, value []byte)) (object, valid bool) {
	i := skipSpace(text, 0)
	object = byteAt(text, i) == '{'
	if !object {
		f = nil
	}
	end := skipNested(text, i, 0, f)
	return object, end >= 0 && skipSpace(text, end) == len(text)
}

// eachElement calls f with the text of every element of a list in order, and returns
// false if text is no list. The text is JSON.
func eachElement(text []byte, f func(value []byte)) bool {
	if text[0] != '[' {
		return false
	}
	skipNested(text, 0, 0, func(_, value []byte) { f(value) })
	return true
}

// The skip functions return where what begins at i ends, -1 if it is not there.

// mostNested is how deep encoding/json reads lists and objects in each other.
const mostNested = 10_000

// skipNested skips any value. If that is a list or an object it calls f, unless that is
// nil, with each element, or with name and value of each member.
func skipNested(text []byte, i, depth int, f func(name, value []byte)) int {
	open := byteAt(text, i)
	if open != '{' && open != '[' {
		return skipPlain(text, i)
	}
	if depth++; depth > mostNested {
		return -1
	}
	end := open + 2 // '}' or ']'
	if i = skipSpace(text, i+1); byteAt(text, i) == end {
		return i + 1
	}
	for {
		var name []byte
		if open == '{' {
			start := i
			if i = skipString(text, i); i < 0 {
				return -1
			}
			name = text[start:i]
			if i = skipSpace(text, i); byteAt(text, i) != ':' {
				return -1
			}
			i = skipSpace(text, i+1)
		}
		start := i
		if byteAt(text, i) == '"' { // as most are
			i = skipString(text, i)
		} else {
			i = skipNested(text, i, depth, nil)
		}
		if i < 0 {
			return -1
		}
		if f != nil {
			f(name, text[start:i])
		}
		i = skipSpace(text, i)
		switch byteAt(text, i) {
		case end:
			return i + 1
		case ',':
			i = skipSpace(text, i+1)
		default:
			return -1
		}
	}
}

// skipPlain skips a string, a number or a word.
func skipPlain(text []byte, i int) int {
	switch c := byteAt(text, i); c {
	case '"':
		return skipString(text, i)
	case 't', 'f', 'n':
		for _, word := range []string{"true", "false", "null"} {
			if c == word[0] && bytes.HasPrefix(text[i:], []byte(word)) {
				return i + len(word)
			}
		}
		return -1
	case '-':
		i++
	}
	if byteAt(text, i) == '0' {
		i++
	} else {
		i = skipDigits(text, i)
	}
	if i >= 0 && byteAt(text, i) == '.' {
		i = skipDigits(text, i+1)
	}
	if i >= 0 && byteAt(text, i)|' ' == 'e' {
		if i++; byteAt(text, i) == '+' || byteAt(text, i) == '-' {
			i++
		}
		i = skipDigits(text, i)
	}
	return i
}

// skipDigits skips one digit at least.
func skipDigits(text []byte, i int) int {
	from := i
	for '0' <= byteAt(text, i) && byteAt(text, i) <= '9' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// skipString skips a string.
func skipString(text []byte, i int) int {
	if byteAt(text, i) != '"' {
		return -1
	}
	for i++; ; {
		if i = skipUnescaped(text, i); i == len(text) || text[i] < ' ' {
			return -1
		}
		if text[i] == '"' {
			return i + 1
		}
		switch byteAt(text, i+1) {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			for k := range 4 {
				if c := byteAt(text, i+2+k); !('0' <= c && c <= '9' || 'a' <= c|' ' && c|' ' <= 'f') {
					return -1
				}
			}
			i += 6
		default:
			return -1
		}
	}
}

// skipUnescaped skips the bytes of a string that stand for themselves, eight at a time.
// Of a word, the lowest bit that is found is right, and no other is asked for: a borrow
// goes upwards from the byte that is looked for.
func skipUnescaped(text []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i >= 0 && i <= len(text)-8; i += 8 { // as no check of bounds needs
		w := binary.LittleEndian.Uint64(text[i:])
		// With this bit turned the quote is the blank, which stands behind what is not allowed.
		controls, slash := w^2*ones-('"'^2+1)*ones, w^'\\'*ones-ones
		if found := (controls | slash) &^ w & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

// byteAt returns the byte at i, and behind the end 0, which no JSON text has outside a
// string and none has in one.
func byteAt(text []byte, i int) byte {
	if i < len(text) {
		return text[i]
	}
	return 0
}

// decodeString returns the value of a text if it is a string.
func decodeString(text []byte) (string, bool) {
	if text[0] != '"' {
		return "", false
	}
	if value := text[1 : len(text)-1]; bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
		return string(value), true
	}
	return string(unquote(nil, text)), true
}

// unquote appends the value of a string. As in encoding/json, bytes that are no
// UTF-8 and surrogates without their other half become U+FFFD.
func unquote(dst, text []byte) []byte {
	text = text[1 : len(text)-1]
	valid := utf8.Valid(text)
	for {
		i := bytes.IndexByte(text, '\\')
		part := text
		if i >= 0 {
			part = text[:i]
		}
		if valid {
			dst = append(dst, part...)
		} else {
			dst = appendValidUTF8(dst, part)
		}
		if i < 0 {
			return dst
		}
		c := text[i+1]
		text = text[i+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			u := hexRune(text)
			text = text[4:]
			if utf16.IsSurrogate(u) {
				low := rune(utf8.RuneError)
				if len(text) >= 6 && text[0] == '\\' && text[1] == 'u' {
					low = hexRune(text[2:])
				}
				if u = utf16.DecodeRune(u, low); u != utf8.RuneError {
					text = text[6:]
				}
			}
			dst = utf8.AppendRune(dst, u)
			continue
		}
		dst = append(dst, c)
	}
}

// hexRune reads the four hexadecimal digits of an escape.
func hexRune(digits []byte) rune {
	var u rune
	for _, c := range digits[:4] {
		switch {
		case c <= '9':
			c -= '0'
		case c <= 'F':
			c -= 'A' - 10
		default:
			c -= 'a' - 10
		}
		u = u<<4 | rune(c)
	}
	return u
}

// appendValidUTF8 appends text with every byte that is no UTF-8 as U+FFFD.
func appendValidUTF8(dst, text []byte) []byte {
	if utf8.Valid(text) {
		return append(dst, text...)
	}
	for _, u := range string(text) {
		dst = utf8.AppendRune(dst, u)
	}
	return dst
}
