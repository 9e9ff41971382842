// Package http1 reads the lines of HTTP/1 headers and trailers as strictly as robots.txt needs it: in
// a body that is misread any line can be a trailer, and net/http accepts names with spaces and lines
// without a name.
package http1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"sync"
)

// Lines can end in LF alone (RFC 9112 section 2.2).
var (
	// A name is a token (RFC 9110 section 5.6.2), and no space precedes the colon (RFC 9112
	// section 5.1). A folded line continues the field above, an old way to write long values
	// (section 5.2).
	fieldLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(?:[ \t]|[-!#$%&'*+.^_`|~0-9A-Za-z]+:)") })
	// A folded line that would hide a header that frames or encodes the body.
	hidingLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^[ \t]+(?:content-encoding|content-length|transfer-encoding)[ \t]*:`)
	})
	// Control characters are invalid in all of them (RFC 9110 section 5.5, RFC 9112 section
	// 2.2).
	controlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\x00-\x08\x0A-\x1F\x7F]`) })
)

// ReadLine appends a line to a section, and returns it without its end.
func ReadLine(in *bufio.Reader, section *[]byte) (line []byte, err error) {
	begin := len(*section)
	for {
		part, err := in.ReadSlice('\n')
		*section = append(*section, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
	line = bytes.TrimSuffix((*section)[begin:len(*section)-1], []byte("\r"))
	if controlLine().Match(line) {
		return nil, fmt.Errorf("a control character in %q", line)
	}
	return line, nil
}

// CheckField returns the error of a malformed line in the headers or trailers.
func CheckField(line []byte) error {
	switch {
	case hidingLine().Match(line):
		return fmt.Errorf("blanks before the field %q", line)
	case !fieldLine().Match(line):
		return fmt.Errorf("malformed field %q", line)
	}
	return nil
}

// ReadTrailers reads the trailer section at the end of a body in chunks, with its empty line (RFC 9112
// section 7.1.2). Nothing in it matters for robots.txt. The error is io.EOF if the section has no end.
func ReadTrailers(in *bufio.Reader) error {
	var section []byte
	for {
		isFirst := len(section) == 0
		line, err := ReadLine(in, &section)
		switch {
		case err != nil:
			return err
		case len(line) == 0:
			return nil
		case isFirst && (line[0] == ' ' || line[0] == '\t'):
			return fmt.Errorf("blanks before the field %q", line)
		}
		if err := CheckField(line); err != nil {
			return err
		}
	}
}
