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

// Elements calls f with the text of every element of a list, and returns false if the text,
// which is JSON, is none.
func Elements(text []byte, f func(value []byte)) bool { return eachElement(text, f) }
