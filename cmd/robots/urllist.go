package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/lines"
	"github.com/robotskit/robots/cmd/internal/screen"
)

// A urlReader reads the URLs of a run: its arguments, of which "-" is a list on standard
// input, then the list of --urls.
type urlReader struct {
	std  *screen.Streams
	args []string
	urls string
	item string   // what each line of a list is, "" for a list of URLs in any form
	list *urlList // the current one
	err  error    // why it ended early
}

// stdinOnce returns an error if several names are that of standard input.
func stdinOnce(names ...string) error {
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return errors.New("standard input can be read only once")
	}
	return nil
}

// isList reports whether URLs come from a list.
func (u *urlReader) isList() bool { return u.urls != "" || slices.Contains(u.args, "-") }

// all yields the URLs, and an error for each line without one.
func (u *urlReader) all() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, arg := range u.args {
			if arg == "-" && !u.listed(arg, yield) || arg != "-" && !yield(arg, nil) {
				return
			}
		}
		if u.urls != "" {
			u.listed(u.urls, yield)
		}
	}
}

// listed yields the URLs of a list, and reports whether more are wanted.
func (u *urlReader) listed(name string, yield func(string, error) bool) bool {
	if u.list, u.err = openURLs(u.std, name); u.err != nil {
		return false
	}
	defer u.list.close()
	u.list.plain = u.item != ""
	found := false
	for url, err := range u.list.all() {
		if found = true; !yield(url, err) {
			return false
		}
	}
	if u.err = u.list.err; u.err == nil && !found {
		u.err = fmt.Errorf("%s has no %s", u.list.title, cmp.Or(u.item, "URL"))
	}
	u.list = nil
	return u.err == nil
}

// ready reports whether the next URL is there without waiting for input.
func (u *urlReader) ready() bool { return u.list == nil || u.list.Ready() }

// parsed parses the URLs of a reader, to read them ahead.
func parsed[T any](u *urlReader, parse func(text string) (T, robots.Origin, error)) iter.Seq2[entry[T], error] {
	return func(yield func(entry[T], error) bool) {
		for text, err := range u.all() {
			e := entry[T]{err: err, bytes: len(text)}
			if err == nil {
				if e.line, e.origin, err = parse(text); err != nil {
					e.err = u.list.at(err)
				}
			}
			if !yield(e, nil) {
				return
			}
		}
		yield(entry[T]{}, cmp.Or(u.err, io.EOF))
	}
}

const (
	// maxURL is the longest line of a list of URLs, in bytes.
	maxURL = 1 << 20
	// maxNested is how deep sitemap indexes may name each other.
	maxNested = 2
)

// A urlList reads a list of URLs, a CSV file, a sitemap or an access log, with gzip or
// without. The first line decides which one it is.
type urlList struct {
	*lines.Reader
	title string
	line  int
	buf   []byte // a line
	file  io.Closer
	std   *screen.Streams
	name  string
	depth int      // of sitemap indexes
	child *urlList // the sitemap of an index that is read at present
	log   bool     // it is an access log
	plain bool     // the lines are not URLs
	err   error    // why it ended early
}

// openURLs opens a list; "-" is standard input.
func openURLs(std *screen.Streams, name string) (*urlList, error) {
	file, title, err := openNamed(std, name)
	if err != nil {
		return nil, err
	}
	return &urlList{Reader: lines.NewReader(file, maxURL), title: title, file: file, std: std, name: name}, nil
}

// asURL returns a URL of a list, the target of a request in a log with a host.
func (l *urlList) asURL(text string) string {
	if l != nil && l.log {
		return asURL(text)
	}
	return text
}

// asURL returns the target of a request as a URL: //a/b is a path there (RFC 9112 section 3.2.1), and elsewhere a URL without a
// scheme.
func asURL(target string) string {
	if strings.HasPrefix(target, "/") {
		return "http://host.invalid" + target // which is not fetched
	}
	return target
}

func (l *urlList) close() { _ = l.file.Close() }

// at adds the line of the last URL to an error; without a list it has none.
func (l *urlList) at(err error) error {
	switch {
	case l == nil:
		return err
	case l.child != nil:
		return l.child.at(err)
	}
	return fmt.Errorf("line %d of %s: %w", l.line, l.title, err)
}

// all yields the URLs, and an error for each line without one.
func (l *urlList) all() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := l.read(yield); err != nil && !errors.Is(err, io.EOF) {
			l.err = fmt.Errorf("cannot read %s: %w", l.title, screen.Cause(err))
		}
	}
}

// read yields the URLs until an error ends the list, or yield returns false. It waits for the
// first line that is not blank.
func (l *urlList) read(yield func(string, error) bool) error {
	if err := l.Unzip(); err != nil {
		return err
	}
	if !l.plain && l.isXML() {
		return l.readSitemap(yield)
	}
	first, err := l.text()
	separator, column := csvColumns(first)
	switch {
	case l.plain:
	case column >= 0 || separator != 0 && (first[0] == '"' || strings.EqualFold(filepath.Ext(l.name), ".csv")):
		return l.readCSV(first, separator, column, yield)
	case loggedURL(first) != "":
		l.log = true
		return l.readLines(first, err, loggedURL, yield)
	case separator == ',':
		l.std.Warn("line %d of %s has a comma, which is read as part of the URL %q: a CSV file begins with a header such as url", l.line, l.title, clip(first))
	}
	return l.readLines(first, err, strings.TrimSpace, yield)
}

// readLines reads a URL from each line, where url returns "" for a line without one. The first
// line has been read, with err.
func (l *urlList) readLines(line string, err error, url func(string) string, yield func(string, error) bool) error {
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
func (l *urlList) text() (string, error) {
	for {
		line, err := l.Next(l.buf)
		l.buf, l.line = line, l.Number
		if err != nil {
			return "", err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return string(bytes.TrimSuffix(line, []byte("\r"))), nil
		}
	}
}

// csvColumns returns the separator of a line of CSV, 0 if it has none, and the column of URLs
// if the line is a header with one, else -1.
func csvColumns(line string) (separator byte, column int) {
	if i := strings.IndexAny(line, ",;\t"); i >= 0 {
		separator = line[i]
	}
	if strings.Contains(line, "://") {
		return separator, -1
	}
	names := []string{line}
	if separator != 0 {
		names = strings.Split(line, string(separator))
	}
	for _, known := range []string{"url", "address", "loc", "page"} {
		column = slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(strings.Trim(name, ` "`), known) })
		if column >= 0 {
			break
		}
	}
	return separator, column
}

// readCSV reads rows of which first is the first. Without a column of URLs, it is the first that
// has one. A first row without a URL is a header.
func (l *urlList) readCSV(first string, separator byte, column int, yield func(string, error) bool) error {
	header := column >= 0
	r := csv.NewReader(io.MultiReader(strings.NewReader(first+"\n"), l))
	if r.Comma = rune(separator); separator == 0 {
		r.Comma = '\x1f' // a single column
	}
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	offset := l.line - 1
	for n := 0; ; n++ {
		row, err := r.Read()
		if err != nil {
			return err
		}
		line, _ := r.FieldPos(0)
		l.line = offset + line
		if column < 0 {
			column = slices.IndexFunc(row, func(s string) bool { return ask.NamesSite(s) || strings.HasPrefix(s, "/") })
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
		return target(l.request)
	}
	_, request, _ := strings.Cut(line, `"`)
	method, rest, _ := strings.Cut(request, " ")
	url, _, ok := strings.Cut(rest, ` HTTP/`)
	if !ok || method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return ""
	}
	if url = unescape(url); strings.HasPrefix(url, "/") || strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://") {
		return url
	}
	return "" // OPTIONS *, CONNECT host:443
}

// isXML reports whether the first character that is not blank begins an element.
func (l *urlList) isXML() bool {
	for n := 1; ; n++ {
		ahead, err := l.Peek(n)
		if err != nil || strings.IndexByte(" \t\r\n\uFEFF", ahead[n-1]) < 0 {
			return err == nil && ahead[n-1] == '<'
		}
	}
}

// readSitemap reads a sitemap, whatever the length of its lines. The sitemaps of an index are
// files beside it with the names that they have on the site.
func (l *urlList) readSitemap(yield func(string, error) bool) error {
	x := xml.NewDecoder(l)
	x.Strict = false
	x.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // URLs are ASCII
	root := ""
	for {
		t, err := x.Token()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("not a sitemap: %w", err)
		}
		e, ok := t.(xml.StartElement)
		if ok && root == "" {
			if root = e.Name.Local; root != "sitemapindex" && root != "urlset" {
				return fmt.Errorf("not a sitemap: it begins with <%s>", clip(root))
			}
		}
		if !ok || e.Name.Local != "loc" || e.Name.Space != "" && !strings.Contains(e.Name.Space, "/schemas/sitemap/") {
			continue // <image:loc> is not a page
		}
		l.line, _ = x.InputPos()
		var url string
		if err := x.DecodeElement(&url, &e); err != nil {
			return fmt.Errorf("not a sitemap: %w", err)
		}
		if url = strings.TrimSpace(url); root == "urlset" {
			if !yield(url, nil) {
				return nil
			}
			continue
		}
		if l.child, err = l.sitemap(url); err != nil {
			return err
		}
		for url, err := range l.child.all() {
			if !yield(url, err) {
				l.child.close()
				return nil
			}
		}
		l.child.close()
		if l.err = l.child.err; l.err != nil {
			return nil
		}
		l.child = nil
	}
}

// sitemap opens a sitemap of an index.
func (l *urlList) sitemap(url string) (*urlList, error) {
	if l.depth == maxNested {
		return nil, errors.New("its sitemap indexes are nested too deeply")
	}
	_, path, err := robots.ParseURL(url)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(path.String(), "?")
	name = filepath.Join(filepath.Dir(l.name), filepath.Base(filepath.FromSlash(name)))
	child, err := openURLs(l.std, name)
	if err != nil {
		return nil, fmt.Errorf("it is a sitemap index, and its sitemap %s is not beside it: download it to %s", clip(url), clip(name))
	}
	child.depth = l.depth + 1
	return child, nil
}
