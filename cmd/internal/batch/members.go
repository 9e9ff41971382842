package batch

import (
	"bytes"
	"unsafe"
)

// Members calls f with the name and the text of the value of every member of an object, in
// order and for a name given twice again, and reports whether the text is an object and
// whether it is JSON. A name holds as long as the text does. It is for what stands around
// questions.
func Members(text []byte, f func(name string, value []byte)) (object, valid bool) {
	return eachMember(text, func(name, value []byte) {
		plain := name[1 : len(name)-1]
		if bytes.IndexByte(plain, '\\') < 0 {
			f(unsafe.String(unsafe.SliceData(plain), len(plain)), value)
			return
		}
		s, _ := decodeString(name)
		f(s, value)
	})
}

// Member returns the text of the value of the first member of a name, which is written
// without escapes, in an object, nil if there is none. It reads no further, and reports
// whether the text is an object as far as it was read, and ends like one.
func Member(text []byte, name string) (value []byte, ok bool) {
	i := skipSpace(text, 0)
	end := len(text)
	for end > i && skipSpace(text[:end], end-1) == end {
		end--
	}
	if byteAt(text, i) != '{' || text[end-1] != '}' {
		return nil, false
	}
	for i++; ; i++ {
		from := skipSpace(text, i)
		if i = skipString(text, from); i < 0 {
			_, valid := eachMember(text, nil) // {}
			return nil, valid
		}
		is := text[from+1 : i-1]
		if i = skipSpace(text, i); byteAt(text, i) != ':' {
			return nil, false
		}
		from = skipSpace(text, i+1)
		if i = skipNested(text, from, 1, nil); i < 0 {
			return nil, false
		}
		if string(is) == name {
			return text[from:i], true
		}
		if i = skipSpace(text, i); byteAt(text, i) != ',' {
			return nil, byteAt(text, i) == '}' && skipSpace(text, i+1) == len(text)
		}
	}
}

// Elements calls f with the text of every element of a list, and returns false if the text,
// which is JSON, is none.
func Elements(text []byte, f func(value []byte)) bool { return eachElement(text, f) }
