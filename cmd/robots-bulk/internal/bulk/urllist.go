package bulk

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/lines"
)

// This file reads lists of URLs: JSON Lines, CSV, CDXJ (each also gzip or zstd), and Parquet
// such as Common Crawl's columnar index. The content determines the form.

// Names of columns, the first one present is used.
var (
	urlColumns = []string{"url"}
	atColumns  = []string{"at", "fetch_time", "timestamp"}
	keyColumns = []string{"url_surtkey", "urlkey"}
)

// A listedURL is a URL of a list.
type listedURL struct {
	url     string
	at      time.Time // zero: the list has none
	siteKey string    // of its site, "" if it has none
}

// rowPosition names a row in messages.
type rowPosition struct {
	File   string
	Unit   string // line or row
	Number int
}

func (p rowPosition) String() string { return fmt.Sprintf("%s %s %d", p.File, p.Unit, p.Number) }

// hostOfKey returns the part of a key of an index that is the site's: com,example of
// com,example)/path, also behind http://( of older ones.
func hostOfKey(key string) string {
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

// setSiteKey gives a URL the key of its site if the list has none.
func (l *listedURL) setSiteKey() {
	l.siteKey = hostOfKey(l.siteKey)
	if l.siteKey != "" {
		return
	}
	if origin, _, err := robots.ParseURL(l.url); err == nil {
		l.siteKey = SURT(origin)
	}
}

// readList calls fn with the URLs of a list until it returns false, and addBytes with how much of a text
// it has read.
func readList(name string, addBytes func(int64), fn func(p rowPosition, l listedURL) (more bool, err error)) error {
	f, err := os.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer f.Close()
	var magic [4]byte
	if _, err := f.ReadAt(magic[:], 0); err == nil && string(magic[:]) == "PAR1" {
		return readParquetList(f, name, fn)
	}
	return readTextList(&inputFile{File: f, addBytes: addBytes}, name, fn)
}

// listTime parses a time as RFC 3339 or 14 digits.
func listTime(s string) (at time.Time, err error) {
	if len(s) == 14 {
		return time.Parse("20060102150405", s)
	}
	at, err = ask.Time(s)
	if err == nil {
		return at, nil
	}
	if _, notDate := time.Parse(time.DateOnly, s); notDate == nil {
		return at, fmt.Errorf("%q is a date without a time of day; write %sT00:00:00Z for its beginning", s, s)
	}
	if _, notNumber := strconv.ParseFloat(s, 64); notNumber == nil {
		return at, errNumber(strconv.Quote(s))
	}
	return at, err
}

// errNumber is the error of a number, such as seconds since 1970, where a list has a time.
func errNumber(number string) error {
	return fmt.Errorf("%s is a number, not a time such as 2026-01-31T18:00:00Z", ask.Clip(number))
}

func readTextList(in io.Reader, name string, fn func(p rowPosition, l listedURL) (bool, error)) error {
	text, done, err := decompress(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer done()
	b := bufio.NewReaderSize(text, 64<<10) // returns text itself if it is buffered
	head, _ := b.Peek(sniffBytes)          // the error is returned by the next read
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		_, _ = b.Discard(len("\ufeff"))
		head = head[len("\ufeff"):]
	}
	if first := bytes.TrimLeft(head, " \t\r\n"); len(first) == 0 || first[0] == '{' || startsWithCDXJ(first) {
		return readLineList(b, name, fn)
	}
	return readCSVList(b, name, fn)
}

// startsWithCDXJ reports whether a text begins with a line of CDXJ, or with one of its head.
func startsWithCDXJ(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.HasPrefix(line, []byte("!")) {
		return true
	}
	fields := bytes.Fields(line)
	return len(fields) > 2 && len(fields[1]) == 14 && len(bytes.Trim(fields[1], "0123456789")) == 0 && fields[2][0] == '{'
}

// readLineList reads JSON Lines and CDXJ, whose lines have a key and a time before.
func readLineList(b *bufio.Reader, name string, fn func(p rowPosition, l listedURL) (bool, error)) error {
	var line []byte
	for r := lines.NewReader(b, maxLineBytes); ; {
		var err error
		if line, err = r.Next(line); errors.Is(err, io.EOF) {
			return nil
		} else if errors.Is(err, lines.ErrLong) {
			return fmt.Errorf("%s line %d: %w", name, r.Number, errLongLine)
		} else if err != nil {
			return fmt.Errorf("%s after line %d: %w", name, r.Number, err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '!' {
			p := rowPosition{name, "line", r.Number}
			l, err := readLine(text)
			if err != nil {
				return fmt.Errorf("%s %w", p, err)
			}
			if more, err := fn(p, l); err != nil || !more {
				return err
			}
		}
	}
}

// readLine reads a line of JSON or CDXJ.
func readLine(line []byte) (l listedURL, err error) {
	object := line
	var key, at []byte
	if line[0] != '{' {
		key, object, _ = bytes.Cut(line, []byte(" "))
		at, object, _ = bytes.Cut(object, []byte(" "))
	}
	var row struct {
		URL       *string        `json:"url"`
		At        jsontext.Value `json:"at"`
		FetchTime jsontext.Value `json:"fetch_time"`
		Timestamp jsontext.Value `json:"timestamp"`
		SURTKey   string         `json:"url_surtkey"`
		URLKey    string         `json:"urlkey"`
	}
	switch err := json.Unmarshal(object, &row, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); {
	case err != nil:
		return l, fmt.Errorf("is not JSON or CDXJ: %w", err)
	case row.URL == nil:
		return l, errors.New("has no url")
	}
	l = listedURL{*row.URL, time.Time{}, cmp.Or(string(key), row.SURTKey, row.URLKey)}
	if len(at) > 0 {
		l.at, err = listTime(string(at))
	} else {
		l.at, err = memberTime(row.At, row.FetchTime, row.Timestamp)
	}
	if err != nil {
		return l, fmt.Errorf("is invalid: %w", err)
	}
	l.setSiteKey()
	return l, nil
}

// memberTime returns the time in the first of some members that is neither absent nor null nor empty.
func memberTime(members ...jsontext.Value) (at time.Time, err error) {
	for _, member := range members {
		switch member.Kind() {
		case '"':
			text, _ := jsontext.AppendUnquote(nil, member) // invalid UTF-8 becomes U+FFFD
			if len(text) == 0 {
				continue
			}
			return listTime(string(text))
		case '0':
			return at, errNumber(string(member))
		}
	}
	return at, nil
}

// readCSVList reads CSV. An unclosed quote makes the rest of the file one record, so a record is
// limited to maxLine bytes.
func readCSVList(in io.Reader, name string, fn func(p rowPosition, l listedURL) (bool, error)) error {
	r := newCSVList(in, name)
	head, _, err := r.next()
	if err != nil {
		return err
	}
	url := columnOf(head, urlColumns)
	at := columnOf(head, atColumns)
	key := columnOf(head, keyColumns)
	if url < 0 {
		return fmt.Errorf("%s is not a list of URLs: the first line is not JSON, CDXJ, or a CSV header with a column url", name)
	}
	for {
		row, line, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p := rowPosition{name, "line", line}
		l := listedURL{url: row[url]}
		if key >= 0 {
			l.siteKey = row[key]
		}
		if at >= 0 && row[at] != "" {
			if l.at, err = listTime(row[at]); err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
		}
		l.setSiteKey()
		if more, err := fn(p, l); err != nil || !more {
			return err
		}
	}
}

// A csvList reads records of bounded size.
type csvList struct {
	name string
	text *io.LimitedReader // of the current record, as package csv reports only where one begins
	csv  *csv.Reader
}

// newCSVList returns a list with a name for errors.
func newCSVList(in io.Reader, name string) *csvList {
	text := &io.LimitedReader{R: in}
	r := csv.NewReader(bufio.NewReaderSize(text, 64<<10))
	r.ReuseRecord = true
	return &csvList{name, text, r}
}

// next returns the next record, which is valid until the next call, and its line.
func (l *csvList) next() (row []string, line int, err error) {
	l.text.N = maxLineBytes
	row, err = l.csv.Read()
	if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) {
		line = wrong.StartLine
	} else if err == nil {
		line, _ = l.csv.FieldPos(0)
	}
	switch {
	case l.text.N <= 0:
		err = fmt.Errorf("%s: record on line %d: %w: check for an unclosed quote; write a quote inside a value twice",
			l.name, max(line, 1), errLongLine)
	case err != nil && !errors.Is(err, io.EOF):
		err = fmt.Errorf("%s: %w", l.name, err)
	}
	return row, line, err
}

// columnOf returns the column with the first of some names that a header has, -1 without one.
func columnOf(head, names []string) int {
	for _, name := range names {
		i := slices.IndexFunc(head, func(title string) bool { return strings.EqualFold(strings.TrimSpace(title), name) })
		if i >= 0 {
			return i
		}
	}
	return -1
}

// firstSite returns the site of the first URL of a list that has one, else "".
func firstSite(name string) (site string, err error) {
	err = readList(name, func(int64) {}, func(_ rowPosition, l listedURL) (bool, error) {
		site = l.siteKey
		return site == "", nil
	})
	return site, err
}

// readLists is readList for several lists, one after another.
func readLists(names []string, addBytes func(int64), fn func(p rowPosition, l listedURL) (bool, error)) error {
	for _, name := range names {
		if err := readList(name, addBytes, fn); err != nil {
			return err
		}
	}
	return nil
}

// A sortedURL is the value of a URL whose key is that of its site.
type sortedURL struct {
	Position rowPosition
	At       time.Time
	URL      []byte
}

// sortLists is readLists for lists in any order: it sorts them by site first.
func sortLists(tmp *tempFiles, names []string, addBytes func(int64), fn func(p rowPosition, l listedURL) (bool, error)) error {
	s := newSorter(tmp)
	if err := readLists(names, addBytes, func(p rowPosition, l listedURL) (bool, error) {
		value, err := json.Marshal(sortedURL{p, l.at, []byte(l.url)})
		if err == nil {
			err = s.add([]byte(l.siteKey), value)
		}
		return true, err
	}); err != nil {
		return err
	}
	for p, err := range s.sortedPairs {
		var u sortedURL
		if err == nil {
			err = json.Unmarshal(p.value, &u)
		}
		if err == nil {
			_, err = fn(u.Position, listedURL{string(u.URL), u.At, string(p.key)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
