package bulk

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// Lists of URLs are JSON Lines, CSV, CDXJ (each also gzip or zstd), and Parquet
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
