package batch

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/robotskit/robots"
)

// This file reads and writes batches as rows, as ClickHouse does (TabSeparated, docs/batch.md).

// rowColumns are those of a question.
var rowColumns = []string{"robots_b64", "agent", "dialect", "url"}

// null stands for no value.
const null = `\N`

// ReadRow reads a row. Its members are values, and no JSON texts.
func ReadRow(line []byte) Question {
	q := Question{row: true}
	line = bytes.TrimSuffix(line, []byte("\r"))
	columns := bytes.Split(line, []byte("\t"))
	if len(columns) != len(rowColumns) {
		q.bad = fail(BadParameter, fmt.Errorf("the row has %d columns, and not the %d that are %s", len(columns), len(rowColumns), strings.Join(rowColumns, ", ")))
		return q
	}
	for i, text := range columns {
		if string(text) == null {
			continue
		}
		value := unescape(text)
		if len(value) == 0 && (rowColumns[i] == "agent" || rowColumns[i] == "dialect") {
			continue
		}
		*q.member(rowColumns[i]) = value
	}
	return q
}

// BadRow is Bad for a row.
func BadRow(code Code, err error) Question { return Question{row: true, bad: fail(code, err)} }

// escaped are the bytes that a backslash and a letter stand for.
var escaped = map[byte]byte{'0': 0, 'a': '\a', 'b': '\b', 'e': 0x1B, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// unescape returns the value of a column. It is never nil.
func unescape(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return slices.Clip(text)
	}
	value := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) {
			value = append(value, c)
			continue
		}
		i++
		c = text[i]
		if control, ok := escaped[c]; ok {
			value = append(value, control)
			continue
		}
		if c == 'x' && i+2 < len(text) {
			if n, err := strconv.ParseUint(string(text[i+1:i+3]), 16, 8); err == nil {
				value = append(value, byte(n))
				i += 2
				continue
			}
		}
		value = append(value, c)
	}
	return value
}

// appendEscaped appends a value as a column has it.
func appendEscaped(dst []byte, value string) []byte {
	for i := range len(value) {
		c := value[i]
		if at := strings.IndexByte("\x00\b\f\n\r\t\\", c); at >= 0 {
			dst = append(dst, '\\', `0bfnrt\`[at])
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// appendRow appends a verdict: verdict, reason, line, error.
func appendRow(dst []byte, v robots.Verdict) []byte {
	dst = append(append(dst, v.Word()...), '\t')
	dst = append(append(dst, v.Reason.String()...), '\t')
	if v.Rule.IsZero() {
		dst = append(dst, null...)
	} else {
		dst = strconv.AppendInt(dst, int64(v.Rule.Line()), 10)
	}
	return append(dst, "\t"+null...)
}

// appendRowError appends what is wrong with a row.
func appendRowError(dst []byte, err error) []byte {
	return appendEscaped(append(dst, null+"\t"+null+"\t"+null+"\t"...), err.Error())
}

// Bodies caches the parsed files of rows by hash. The zero value is ready for use. It is safe
// for concurrent use.
type Bodies struct {
	mu    sync.Mutex
	known map[bodyKey]*list.Element // of kept
	order list.List                 // most recently used first
	bytes int
}

type bodyKey struct {
	sum   [sha256.Size]byte // of its base64
	limit int
}

type body struct {
	key  bodyKey
	file *robots.File
}

// Limits of the cache, in files and in bytes.
const (
	mostBodies    = 1000
	mostBodyBytes = 32 << 20
)

// file returns the file of a row, read up to a limit in bytes, 0 for none.
func (b *Bodies) file(text []byte, limit int) (*robots.File, error) {
	key := bodyKey{sha256.Sum256(text), limit}
	b.mu.Lock()
	if e := b.known[key]; e != nil {
		b.order.MoveToFront(e)
		b.mu.Unlock()
		return e.Value.(*body).file, nil
	}
	b.mu.Unlock()
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return nil, fmt.Errorf("robots_b64 is not base64: %w", err)
	}
	if limit > 0 && len(raw)-1 > limit {
		raw = bytes.Clone(raw[:limit+1]) // one more shows that there are more
	}
	file := robots.Parse(raw)
	if len(raw) > maxRemembered {
		return file, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[bodyKey]*list.Element{}
	}
	if b.known[key] != nil { // another did it meanwhile
		return file, nil
	}
	b.known[key] = b.order.PushFront(&body{key, file})
	for b.bytes += len(file.Bytes()); len(b.known) > mostBodies || b.bytes > mostBodyBytes; {
		last := b.order.Remove(b.order.Back()).(*body)
		delete(b.known, last.key)
		b.bytes -= len(last.file.Bytes())
	}
	return file, nil
}
