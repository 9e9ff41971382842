package robotstest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// A table is a section of rows, with cells separated by spaces. Empty lines and lines that
// begin with '#' are ignored.
type table struct {
	line int // of the header
	head []string
	rows []row
}

type row struct {
	line  int
	cells []string
}

func (p *parser) table(f txtar.File, at int) (*table, error) {
	t := &table{}
	line := at
	for l := range bytes.Lines(f.Data) {
		line++
		cells := strings.Fields(string(l))
		switch {
		case len(cells) == 0 || l[0] == '#':
		case t.head == nil:
			t.line = line
			t.head = cells
		case len(cells) != len(t.head):
			return nil, p.errorf(line, "%d cells under %d columns", len(cells), len(t.head))
		default:
			t.rows = append(t.rows, row{line, cells})
		}
	}
	if len(t.rows) == 0 {
		return nil, p.errorf(at, "section %s has no rows", f.Name)
	}
	return t, nil
}

// maxText limits the result of escapes, so that a mistake in a repeat is an error.
const maxText = 8 << 20

// escapes are the bytes that a backslash and a letter stand for.
var escapes = map[byte]byte{'r': '\r', 'n': '\n', 't': '\t', '0': 0, '\\': '\\'}

// unescape reads \r \n \t \0 \\ \xHH and the repeat \{TEXT*N}: TEXT, which can contain the
// other escapes, N times. "" is the empty text.
func unescape(s string) ([]byte, error) {
	if s == `""` {
		return nil, nil
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		i++
		if i == len(s) {
			return nil, fmt.Errorf(`\ at the end`)
		}
		c, plain := escapes[s[i]]
		switch {
		case plain:
			b = append(b, c)
		case s[i] == 'x':
			if i+2 >= len(s) {
				return nil, fmt.Errorf(`\x without two hexadecimal digits`)
			}
			n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				return nil, fmt.Errorf(`\x%s: not two hexadecimal digits`, s[i+1:i+3])
			}
			b = append(b, byte(n))
			i += 2
		case s[i] == '{':
			end := strings.IndexByte(s[i:], '}')
			if end < 0 {
				return nil, fmt.Errorf(`\{ without }`)
			}
			text, err := repeat(s[i+1 : i+end])
			if err != nil {
				return nil, err
			}
			b = append(b, text...)
			i += end
		default:
			return nil, fmt.Errorf(`\%c is no escape`, s[i])
		}
		if len(b) > maxText {
			return nil, fmt.Errorf("text of more than %d bytes", maxText)
		}
	}
	return b, nil
}

// repeat reads the inside of \{TEXT*N}.
func repeat(s string) ([]byte, error) {
	star := strings.LastIndexByte(s, '*')
	if star < 0 {
		return nil, fmt.Errorf(`\{%s}: no *N`, s)
	}
	n, err := strconv.Atoi(s[star+1:])
	if err != nil || n < 0 {
		return nil, fmt.Errorf(`\{%s}: %q is no count`, s, s[star+1:])
	}
	text, err := unescape(s[:star])
	if err != nil {
		return nil, err
	}
	if len(text) > 0 && n > maxText/len(text) {
		return nil, fmt.Errorf(`\{%s}: more than %d bytes`, s, maxText)
	}
	return bytes.Repeat(text, n), nil
}
