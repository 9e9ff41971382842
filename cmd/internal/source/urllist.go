package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/lines"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/urllist"
	"golang.org/x/text/encoding/unicode"
)

const (
	// maxURL is the longest line of a list of URLs, in bytes.
	maxURL = 1 << 20
	// maxNested is how deep sitemap indexes may name each other.
	maxNested = 2
)

// A URLList reads a list of URLs, a CSV file, a sitemap or an access log, with gzip or
// without. The first line decides which one it is.
type URLList struct {
	*lines.Reader
	Title string
	Line  int
	file  io.Closer
	open  func(name string) (*URLList, error)
	std   *screen.Streams
	name  string
	depth int      // of sitemap indexes
	child *URLList // the sitemap of an index that is read at present
	log   bool     // it is an access log
	plain bool     // the lines are not URLs
	Err   error    // why it ended early
}

// OpenURLs opens a list: a file, "-" for standard input, or a URL to download.
func OpenURLs(ctx context.Context, std *screen.Streams, live *Live, name string) (*URLList, error) {
	var file io.ReadCloser
	var title string
	var err error
	if ask.NamesSite(name) {
		title = answer.HideUser(name)
		file, err = live.openList(ctx, name)
	} else {
		file, title, err = OpenNamed(std, name)
	}
	if err != nil {
		return nil, err
	}
	open := func(name string) (*URLList, error) { return OpenURLs(ctx, std, live, name) }
	return &URLList{Reader: lines.NewReader(file, maxURL), Title: title, file: file, std: std, name: name, open: open}, nil
}

// AsURL returns a URL of a list, the target of a request in a log with a host.
func (l *URLList) AsURL(text string) string {
	if l != nil && l.log {
		return AsURL(text)
	}
	return text
}

// AsURL returns the target of a request as a URL: //a/b is a path there (RFC 9112 section 3.2.1), and elsewhere a URL without a
// scheme.
func AsURL(target string) string {
	if strings.HasPrefix(target, "/") {
		return "http://host.invalid" + target // which is not fetched
	}
	return target
}

func (l *URLList) Close() { _ = l.file.Close() }

// at adds the line of the last URL to an error; without a list it has none.
func (l *URLList) at(err error) error {
	switch {
	case l == nil:
		return err
	case l.child != nil:
		return l.child.at(err)
	}
	return fmt.Errorf("line %d of %s: %w", l.Line, l.Title, err)
}

// All yields the URLs, and an error for each line without one.
func (l *URLList) All() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := l.read(yield); err != nil && !errors.Is(err, io.EOF) {
			l.Err = fmt.Errorf("cannot read %s: %w", l.Title, screen.Cause(err))
		}
	}
}

// read yields the URLs until an error ends the list, or yield returns false. It waits for the
// first line that is not blank.
func (l *URLList) read(yield func(string, error) bool) error {
	if err := l.Unzip(); err != nil {
		return err
	}
	if mark, _ := l.Peek(2); string(mark) == "\xFF\xFE" || string(mark) == "\xFE\xFF" { // as spreadsheets write it
		text := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Reader(l.Reader)
		l.Reader = lines.NewReader(text, maxURL)
	}
	if !l.plain && l.isXML() {
		return l.readSitemap(yield)
	}
	first, err := l.text()
	separator, column := urllist.Columns(first)
	switch {
	case l.plain:
	case column >= 0 || separator != 0 && (first[0] == '"' || strings.EqualFold(filepath.Ext(l.name), ".csv")):
		return l.readCSV(first, separator, column, yield)
	case loggedURL(first) != "":
		l.log = true
		return l.readLines(first, err, loggedURL, yield)
	case separator == ',':
		l.std.Warn(
			"line %d of %s has a comma, which is read as part of the URL %q: a CSV file begins with a header such as url", l.Line,
			l.Title, ask.Clip(first),
		)
	}
	return l.readLines(first, err, strings.TrimSpace, yield)
}

// readLines reads a URL from each line, where url returns "" for a line without one. The first
// line has been read, with err.
func (l *URLList) readLines(line string, err error, url func(string) string, yield func(string, error) bool) error {
	for {
		text := url(line)
		switch {
		case errors.Is(err, lines.ErrLong):
			err = l.at(errors.New("the line is longer than 1 MiB")) // maxURL
		case err != nil:
			return err
		case text == "":
			err = l.at(errors.New("no URL"))
		}
		if !yield(text, err) {
			return nil
		}
		line, err = l.text()
	}
}

// text returns the next line that is not blank, without its line end.
func (l *URLList) text() (string, error) {
	for {
		line, err := l.Next()
		l.Line = l.Number
		if err != nil {
			return "", err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return l.Text(bytes.TrimSuffix(line, []byte("\r"))), nil
		}
	}
}

// readCSV reads rows of which first is the first. Without a column of URLs, it is the first that
// has one. A first row without a URL is a header.
func (l *URLList) readCSV(first string, separator byte, column int, yield func(string, error) bool) error {
	header := column >= 0
	r := urllist.NewCSV(io.MultiReader(strings.NewReader(first+"\n"), l), separator)
	offset := l.Line - 1
	for n := 0; ; n++ {
		row, err := r.Read()
		if err != nil {
			return err
		}
		line, _ := r.FieldPos(0)
		l.Line = offset + line
		if column < 0 {
			column = slices.IndexFunc(row, urllist.IsURL)
		}
		if n == 0 && (header || column < 0) {
			continue
		}
		url := ""
		if column >= 0 && column < len(row) {
			url = strings.TrimSpace(row[column])
		}
		if url == "" {
			err = l.at(errors.New("no URL"))
		}
		if !yield(url, err) {
			return nil
		}
	}
}

// loggedURL returns the target of the request in a line of an access log, "" for other lines:
// that of a JSON object, or what follows the method in the first quotes.
func loggedURL(line string) string {
	if strings.HasPrefix(line, "{") {
		l, _ := parseJSONLogLine(line) // no request in an invalid line
		return Target(l.Request)
	}
	_, request, _ := strings.Cut(line, `"`)
	method, rest, _ := strings.Cut(request, " ")
	url, _, ok := strings.Cut(rest, ` HTTP/`)
	if !ok || method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return ""
	}
	url = unescape(url)
	if strings.HasPrefix(url, "/") || strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://") {
		return url
	}
	return "" // OPTIONS *, CONNECT host:443
}
