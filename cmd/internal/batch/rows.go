package batch

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
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
		q.bad = fmt.Errorf("expected %d columns (%s), got %d", len(rowColumns), strings.Join(rowColumns, ", "), len(columns))
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

// escape is a backslash with what follows it, and escaped are the bytes that a letter stands for.
var (
	escape  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\\(x[[:xdigit:]]{2}|.)`) })
	escaped = map[byte]byte{'0': 0, 'a': '\a', 'b': '\b', 'e': 0x1B, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}
)

// unescape returns the value of a column. It is never nil.
func unescape(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return slices.Clip(text)
	}
	return escape().ReplaceAllFunc(text, func(e []byte) []byte {
		if e[1] == 'x' && len(e) > len(`\x`) {
			n, _ := strconv.ParseUint(string(e[len(`\x`):]), 16, 8) // which is valid
			return []byte{byte(n)}
		}
		if control, ok := escaped[e[1]]; ok {
			return []byte{control}
		}
		return e[1:]
	})
}

var escaper = strings.NewReplacer("\x00", `\0`, "\b", `\b`, "\f", `\f`, "\n", `\n`, "\r", `\r`, "\t", `\t`, `\`, `\\`)

// appendEscaped appends a value as a column has it.
func appendEscaped(dst []byte, value string) []byte { return append(dst, escaper.Replace(value)...) }

// appendRow appends a verdict: verdict, reason, line, error.
func appendRow(dst []byte, v robots.Verdict) []byte {
	line := null
	if !v.Rule.IsZero() {
		line = strconv.Itoa(v.Rule.Line())
	}
	return fmt.Appendf(dst, "%s\t%s\t%s\t%s", v.Word(), v.Reason, line, null)
}

// appendRowError appends what is wrong with a row.
func appendRowError(dst []byte, err error) []byte {
	return appendEscaped(append(dst, null+"\t"+null+"\t"+null+"\t"...), err.Error())
}

// bodies caches the parsed files of rows by a hash of their base64.
type bodies struct {
	known *simplelru.LRU[[sha256.Size]byte, *robots.File]
	bytes int
}

// Limits of the cache, in files and in bytes.
const (
	mostBodies    = 1000
	mostBodyBytes = 32 << 20
)

func newBodies() *bodies {
	b := &bodies{}
	b.known, _ = simplelru.NewLRU(mostBodies, func(_ [sha256.Size]byte, f *robots.File) { b.bytes -= len(f.Bytes()) }) // the size is valid
	return b
}

// file returns the file of a row.
func (b *bodies) file(text []byte) (*robots.File, error) {
	key := sha256.Sum256(text)
	if file, ok := b.known.Get(key); ok {
		return file, nil
	}
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return nil, fmt.Errorf("robots_b64 is not base64: %w", err)
	}
	file := robots.Parse(raw)
	if len(raw) > maxRemembered {
		return file, nil
	}
	b.known.Add(key, file)
	for b.bytes += len(raw); b.bytes > mostBodyBytes; {
		b.known.RemoveOldest()
	}
	return file, nil
}
