package bulk

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/batch"
)

// This file reads lists of URLs: JSON Lines, CSV, CDXJ (each also gzip or zstd), and Parquet
// such as Common Crawl's columnar index. The content determines the form.

// Names of columns, the first one present is used.
var (
	urlColumns = []string{"url"}
	atColumns  = []string{"at", "fetch_time", "timestamp"}
	keyColumns = []string{"url_surtkey", "urlkey"}
)

// A listed is a URL of a list. Its texts are valid until the next one is read.
type listed struct {
	url string
	at  int64  // milliseconds since 1970, or noTime
	key string // of its site, "" if it has none
}

const noTime = math.MinInt64 // no time in the list

// millis returns a time as lists have it.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.UnixMilli()
}

// place names a row in messages.
type place struct {
	file string
	unit string // line or row
	n    int
}

func (p place) String() string { return fmt.Sprintf("%s %s %d", p.file, p.unit, p.n) }

// siteKey returns the part of a key of an index that is the site's: com,example of
// com,example)/path, also behind http://( of older ones.
func siteKey(key string) string {
	if end := strings.IndexByte(key, ')'); end >= 0 {
		key = key[:end]
	}
	if strings.IndexByte(key, ':') < 0 { // nor a port
		return key
	}
	if _, rest, ok := strings.Cut(key, "://("); ok {
		return rest
	}
	return key
}

// withKey gives a URL the key of its site if the list has none.
func (l *listed) withKey() {
	if l.key = siteKey(l.key); l.key != "" {
		return
	}
	if origin, _, err := robots.ParseURL(l.url); err == nil {
		l.key = SURT(origin)
	}
}

// readList calls fn with the URLs of a list until it returns false.
func readList(name string, fn func(p place, l listed) (more bool, err error)) error {
	f, err := os.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer f.Close()
	var magic [4]byte
	if _, err := f.ReadAt(magic[:], 0); err == nil && string(magic[:]) == "PAR1" {
		return readParquetList(f, name, false, fn)
	}
	return readTextList(f, name, false, fn)
}

func readParquetList(f *os.File, name string, last bool, fn func(p place, l listed) (bool, error)) error {
	n := 0
	var failed error // that of fn names the row
	err := readCells(f, [][]string{urlColumns, atColumns, keyColumns}, last, func(row []cell, has []bool) (bool, error) {
		if !has[0] {
			return false, errors.New("it has no column url")
		}
		n++
		p := place{name, "row", n}
		l := listed{url: textOf(row[0].text), at: millis(row[1].time), key: textOf(row[2].text)}
		if len(row[1].text) > 0 {
			var err error
			if l.at, err = listTime(textOf(row[1].text)); err != nil {
				return false, fmt.Errorf("row %d: %w", n, err)
			}
		}
		l.withKey()
		var more bool
		more, failed = fn(p, l)
		return more, failed
	})
	if err != nil && failed == nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// textOf returns bytes as a text that shares their memory.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// listTime parses a time as RFC 3339 or 14 digits, in milliseconds since 1970.
func listTime(s string) (int64, error) {
	if len(s) == 14 {
		t, err := time.Parse("20060102150405", s)
		return millis(t), err
	}
	t, err := ask.Time(s)
	return millis(t), err
}

func readTextList(in io.Reader, name string, ends bool, fn func(p place, l listed) (bool, error)) error {
	text, done, err := unpack(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer done()
	b := bufio.NewReaderSize(text, 64<<10) // returns text itself if it is buffered
	head, _ := b.Peek(sniffBytes)          // the error is returned by the next read
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	if first := bytes.TrimLeft(head, " \t\r\n"); len(first) == 0 || first[0] == '{' || isCDXJ(first) {
		return readLineList(b, name, ends, fn)
	}
	return readCSVList(b, name, fn)
}

// isCDXJ reports whether a text begins with a line of CDXJ, or with one of its head.
func isCDXJ(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.HasPrefix(line, []byte("!")) {
		return true
	}
	fields := bytes.Fields(line)
	return len(fields) > 2 && len(fields[1]) == 14 && len(bytes.Trim(fields[1], "0123456789")) == 0 && fields[2][0] == '{'
}

// readLineList reads JSON Lines and CDXJ, whose lines have a key and a time before. With
// ends it reads the first line and the last.
func readLineList(b *bufio.Reader, name string, ends bool, fn func(p place, l listed) (bool, error)) error {
	var buffer, last []byte
	lastAt := place{name, "line", 0}
	for n := 1; ; n++ {
		var err error
		buffer, _, err = readLimited(b, buffer)
		line := buffer
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s line %d: %w", name, n, err)
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '!' {
			p := place{name, "line", n}
			if ends && lastAt.n > 0 {
				last, lastAt = append(last[:0], line...), p
			} else {
				lastAt = p
				l, failed := readLine(p, line)
				if failed != nil {
					return failed
				}
				if more, err := fn(p, l); err != nil || !more {
					return err
				}
			}
		}
		if err == nil {
			continue
		}
		if len(last) > 0 {
			l, err := readLine(lastAt, last)
			if err == nil {
				_, err = fn(lastAt, l)
			}
			return err
		}
		return nil
	}
}

// readLine reads a line of JSON or CDXJ.
func readLine(p place, line []byte) (l listed, err error) {
	l.at = noTime
	object := line
	var key, at []byte
	if line[0] != '{' {
		key, object, _ = bytes.Cut(line, []byte(" "))
		at, object, _ = bytes.Cut(object, []byte(" "))
	}
	var url, stated, named []byte
	if len(at) > 0 { // the other members are not needed
		var valid bool
		if url, valid = batch.Member(object, urlColumns[0]); !valid {
			return l, fmt.Errorf("%s is not JSON or CDXJ", p)
		}
		if string(url) == "null" {
			url = nil
		}
	} else if _, valid := batch.Members(object, func(name string, value []byte) {
		switch {
		case string(value) == "null":
		case name == urlColumns[0]:
			url = value
		case slices.Contains(atColumns, name):
			stated = value
		case slices.Contains(keyColumns, name):
			named = value
		}
	}); !valid {
		return l, fmt.Errorf("%s is not JSON or CDXJ", p)
	}
	if url == nil {
		return l, fmt.Errorf("%s has no url", p)
	}
	if key == nil && named != nil {
		l.key, err = stringOf(named)
	} else {
		l.key = textOf(key)
	}
	var stamp string
	if at == nil && stated != nil && err == nil {
		stamp, err = stringOf(stated)
	} else {
		stamp = textOf(at)
	}
	if err == nil {
		l.url, err = stringOf(url)
	}
	if err == nil && stamp != "" {
		l.at, err = listTime(stamp)
	}
	if err != nil {
		return l, fmt.Errorf("%s: %w", p, err)
	}
	l.withKey()
	return l, nil
}

// stringOf returns the value of a JSON string, which can share memory with the text.
func stringOf(text []byte) (s string, err error) {
	if text[0] == '"' && bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return textOf(text[1 : len(text)-1]), nil
	}
	if json.Unmarshal(text, &s) != nil {
		return "", fmt.Errorf("%s is not a string", ask.Clip(string(text)))
	}
	return s, nil
}

// records reads CSV. An unclosed quote makes the rest of the file one record, so a record is
// limited to maxLine bytes.
type records struct {
	*csv.Reader
	text recordText
}

// recordText ends after maxLine bytes of a record; package csv then reports where it begins.
type recordText struct {
	in   io.Reader
	left int
	cut  bool
}

func (t *recordText) Read(p []byte) (int, error) {
	if t.left == 0 {
		t.cut = true
		return 0, io.EOF
	}
	n, err := t.in.Read(p[:min(len(p), t.left)])
	t.left -= n
	return n, err
}

func newRecords(in io.Reader) *records {
	r := &records{text: recordText{in: in}}
	r.Reader = csv.NewReader(bufio.NewReaderSize(&r.text, 64<<10))
	r.ReuseRecord = true
	return r
}

// next returns a record, valid until the next call.
func (r *records) next() ([]string, error) {
	r.text.left = maxLine
	row, err := r.Read()
	if !r.text.cut {
		return row, err
	}
	line := 1
	if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) {
		line = wrong.StartLine
	} else if err == nil {
		line, _ = r.FieldPos(0)
	}
	return nil, fmt.Errorf("record on line %d: %w: check for an unclosed quote; write a quote inside a value twice", line, errLongLine)
}

func readCSVList(b *bufio.Reader, name string, fn func(p place, l listed) (bool, error)) error {
	r := newRecords(b)
	head, err := r.next()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	find := func(names []string) int {
		for _, want := range names {
			for i, have := range head {
				if strings.EqualFold(strings.TrimSpace(strings.TrimPrefix(have, "\ufeff")), want) {
					return i
				}
			}
		}
		return -1
	}
	url, at, key := find(urlColumns), find(atColumns), find(keyColumns)
	if url < 0 {
		return fmt.Errorf("%s is not a list of URLs: the first line is not JSON, CDXJ, or a CSV header with a column url", name)
	}
	for {
		row, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		line, _ := r.FieldPos(0)
		p := place{name, "line", line}
		l := listed{url: row[url], at: noTime}
		if key >= 0 {
			l.key = row[key]
		}
		if at >= 0 && row[at] != "" {
			if l.at, err = listTime(row[at]); err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
		}
		l.withKey()
		if more, err := fn(p, l); err != nil || !more {
			return err
		}
	}
}

// A listFile is a list and the sites from its first to its last. In a list that is to be
// sorted these are the least and the greatest.
type listFile struct {
	Input
	from, to string
}

// describeList reads a list once, for its hash and its sites.
func describeList(name string, sorted bool) (l listFile, err error) {
	l.Name = filepath.ToSlash(name)
	f, err := os.Open(name)
	if err != nil {
		return l, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return l, err
	}
	if !info.Mode().IsRegular() {
		return l, fmt.Errorf("%s is not a regular file", name)
	}
	l.Size = info.Size()
	sum := sha256.New()
	note := func(row listed) {
		if row.key == "" {
			return
		}
		if l.from == "" || row.key < l.from {
			l.from = strings.Clone(row.key)
		}
		if row.key > l.to {
			l.to = strings.Clone(row.key)
		}
	}
	see := func(_ place, row listed) (bool, error) {
		note(row)
		return true, nil
	}
	var magic [4]byte
	if _, err := f.ReadAt(magic[:], 0); err == nil && string(magic[:]) == "PAR1" {
		if _, err := io.Copy(sum, f); err != nil {
			return l, err
		}
		if sorted {
			err = readParquetList(f, l.Name, false, func(_ place, row listed) (bool, error) {
				note(row)
				return row.key == "", nil
			})
		}
		if err == nil {
			err = readParquetList(f, l.Name, sorted, see)
		}
		l.Hash = hex.EncodeToString(sum.Sum(nil))
		return l, err
	}
	in := io.TeeReader(f, sum)
	if err := readTextList(in, l.Name, sorted, see); err != nil {
		return l, err
	}
	_, err = io.Copy(io.Discard, in) // the rest is part of the hash
	l.Hash = hex.EncodeToString(sum.Sum(nil))
	return l, err
}

// readLists is readList for several lists, one after another.
func readLists(names []string, fn func(p place, l listed) (bool, error)) error {
	for _, name := range names {
		if err := readList(name, fn); err != nil {
			return err
		}
	}
	return nil
}

// sortLists is readLists for lists in any order: it sorts them by site first.
func sortLists(scratch string, names []string, fn func(p place, l listed) (bool, error)) error {
	s := newSorter(scratch)
	defer s.close()
	var value []byte
	for i, name := range names {
		if err := readList(name, func(p place, l listed) (bool, error) {
			value = binary.AppendUvarint(binary.AppendUvarint(value[:0], uint64(i)), uint64(p.n))
			value = binary.AppendVarint(value, l.at)
			return true, s.add([]byte(l.key), append(value, l.url...))
		}); err != nil {
			return err
		}
	}
	for pair, err := range s.all {
		if err != nil {
			return err
		}
		value := pair.value
		number := func() int {
			n, size := binary.Uvarint(value)
			value = value[size:]
			return int(n)
		}
		p := place{file: names[number()], unit: "row", n: number()}
		at, size := binary.Varint(value)
		if _, err := fn(p, listed{url: string(value[size:]), at: at, key: string(pair.key)}); err != nil {
			return err
		}
	}
	return nil
}
