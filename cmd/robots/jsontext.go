package main

import (
	"unicode/utf16"
	"unicode/utf8"
)

// The functions of this file take JSON texts apart that encoding/json has found
// valid, so they need not look for faults. They exist because a body of many
// megabytes should not be copied and read again for each of its members, and
// because encoding/json folds the letter case of names.

// eachMember calls f with the name and the text of every member of an object in
// order, and returns false if text is no object.
func eachMember(text []byte, f func(name string, value []byte)) bool {
	i := skipSpace(text, 0)
	if text[i] != '{' {
		return false
	}
	for i = skipSpace(text, i+1); text[i] != '}'; {
		end := skipString(text, i)
		name, _ := decodeString(text[i:end])
		i = skipSpace(text, skipSpace(text, end)+1) // the colon
		end = skipValue(text, i)
		f(name, text[i:end])
		if i = skipSpace(text, end); text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return true
}

// eachElement calls f with the text of every element of a list in order until f
// returns false, and returns false then or if text is no list.
func eachElement(text []byte, f func(value []byte) bool) bool {
	i := skipSpace(text, 0)
	if text[i] != '[' {
		return false
	}
	for i = skipSpace(text, i+1); text[i] != ']'; {
		end := skipValue(text, i)
		if !f(text[i:end]) {
			return false
		}
		if i = skipSpace(text, end); text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return true
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

// skipString returns the end of the string that begins at i.
func skipString(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipValue returns the end of the value that begins at i.
func skipValue(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = skipString(text, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // of what holds a number or a word
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// decodeString returns the value of a text if it is a string.
func decodeString(text []byte) (string, bool) {
	if text[0] != '"' {
		return "", false
	}
	return string(unquote(nil, text)), true
}

// unquote appends the value of a string. As in encoding/json, bytes that are no
// UTF-8 and surrogates without their other half become U+FFFD.
func unquote(dst, text []byte) []byte {
	text = text[1 : len(text)-1]
	from := 0 // text[from:i] is to be appended as it is
	for i := 0; i < len(text); {
		c := text[i]
		if c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c != '\\' {
			u, size := utf8.DecodeRune(text[i:])
			if u == utf8.RuneError && size == 1 {
				dst = append(dst, text[from:i]...)
				dst = utf8.AppendRune(dst, utf8.RuneError)
				from = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, text[from:i]...)
		i++
		switch c = text[i]; c {
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
			u := hexRune(text[i+1:])
			i += 5
			if utf16.IsSurrogate(u) {
				low := rune(utf8.RuneError)
				if i+6 <= len(text) && text[i] == '\\' && text[i+1] == 'u' {
					low = hexRune(text[i+2:])
				}
				if u = utf16.DecodeRune(u, low); u != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, u)
			from = i
			continue
		}
		dst = append(dst, c)
		i++
		from = i
	}
	return append(dst, text[from:]...)
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
