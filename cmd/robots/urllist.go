package main

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// A urlReader reads the URLs of a run: its arguments, of which "-" is a list on standard
// input, then the list of --urls.
type urlReader struct {
	std   *streams
	names []urlName
	list  *urlList // the current one
}

// A urlName is a URL, or the name of a file with a list of URLs.
type urlName struct {
	text string
	list bool
}

// newURLReader checks that there is a URL, and that standard input is read once. Robots
// names the robots.txt, "" if it is fetched.
func newURLReader(std *streams, args []string, urls, robots string) (*urlReader, error) {
	u := &urlReader{std: std}
	for _, arg := range args {
		u.names = append(u.names, urlName{arg, arg == "-"})
	}
	if urls != "" {
		u.names = append(u.names, urlName{urls, true})
	}
	stdin := 0
	for _, name := range append(u.names, urlName{robots, true}) {
		if name.list && name.text == "-" {
			stdin++
		}
	}
	switch {
	case len(u.names) == 0:
		return nil, errors.New("no URL given: name at least one, - to read a list from standard input, or --urls FILE")
	case stdin > 1:
		return nil, errors.New("standard input can be read only once")
	}
	return u, nil
}

// isList reports whether URLs come from a list.
func (u *urlReader) isList() bool {
	return u.list != nil || slices.ContainsFunc(u.names, func(n urlName) bool { return n.list })
}

// next returns the next URL: io.EOF at the end, a lineError for a line without a URL.
func (u *urlReader) next() (string, error) {
	for {
		if u.list != nil {
			url, err := u.list.next()
			if !errors.Is(err, io.EOF) {
				return url, err
			}
			title, found := u.list.title, u.list.found
			u.list.close()
			if u.list = nil; !found {
				return "", fmt.Errorf("%s has no URL", title)
			}
			continue
		}
		if len(u.names) == 0 {
			return "", io.EOF
		}
		name := u.names[0]
		u.names = u.names[1:]
		if !name.list {
			return name.text, nil
		}
		var err error
		if u.list, err = openURLs(u.std, name.text); err != nil {
			return "", err
		}
	}
}

// ready reports whether next returns without waiting for input.
func (u *urlReader) ready() bool { return u.list == nil || u.list.in.ready() }

// at adds the line of the last URL to an error.
func (u *urlReader) at(err error) error {
	if u.list == nil {
		return err
	}
	return u.list.at(err)
}

// A lineError is about one line of a list. The other lines are read.
type lineError struct{ error }

func (e lineError) Unwrap() error { return e.error }

const (
	// maxURL is the longest line of a list of URLs, in bytes.
	maxURL = 1 << 20
	// maxNested is how deep sitemap indexes may name each other.
	maxNested = 2
)

var errNoURL = errors.New("no URL")

// A urlList reads a list of URLs, a CSV file, a sitemap or an access log, with gzip or
// without. The first line decides which one it is.
type urlList struct {
	title string
	found bool // a line that is not blank
	line  int
	read  func() (string, error)
	in    *lineReader
	buf   []byte // a line
	file  io.Closer
	std   *streams
	name  string
	depth int // of sitemap indexes
}

// openURLs opens a list; "-" is standard input.
func openURLs(std *streams, name string) (*urlList, error) {
	file, title, err := std.open(name)
	if err != nil {
		return nil, err
	}
	return &urlList{title: title, file: file, std: std, name: name, in: newLineReader(file, maxURL)}, nil
}

func (l *urlList) close() { _ = l.file.Close() }

func (l *urlList) at(err error) error {
	return lineError{fmt.Errorf("line %d of %s: %w", l.line, l.title, err)}
}

// next returns the next URL: io.EOF at the end, a lineError for a line without one.
func (l *urlList) next() (string, error) {
	if l.read == nil {
		if err := l.detect(); err != nil {
			return "", l.failure(err)
		}
	}
	url, err := l.read()
	switch {
	case err == nil:
		l.found = true
		return url, nil
	case errors.Is(err, errLongLine):
		err = errors.New("the line is longer than 1 MiB") // maxURL
		fallthrough
	case errors.Is(err, errNoURL):
		l.found = true
		return "", l.at(err)
	}
	return "", l.failure(err)
}

// failure describes why a list cannot be read to its end.
func (l *urlList) failure(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("cannot read %s: %w", l.title, cause(err))
}

// detect chooses how the list is read. It waits for the first line that is not blank.
func (l *urlList) detect() error {
	if err := l.in.unzip(); err != nil {
		return err
	}
	first, err := l.text()
	if err != nil && !errors.Is(err, errLongLine) {
		return err
	}
	separator, column := csvColumns(first)
	switch {
	case strings.HasPrefix(first, "<"):
		l.readSitemap(first)
	case column >= 0 || separator != 0 && (first[0] == '"' || strings.EqualFold(filepath.Ext(l.name), ".csv")):
		l.readCSV(first, separator, column)
	case loggedURL(first) != "":
		l.readLines(first, err, loggedURL)
	default:
		if separator == ',' {
			l.warnComma(first)
		}
		l.readLines(first, err, strings.TrimSpace)
	}
	return nil
}

// readLines reads a URL from each line, where url returns "" for a line without one. The first
// line has been read, with err.
func (l *urlList) readLines(first string, err error, url func(string) string) {
	begun := false
	l.read = func() (string, error) {
		line, err := first, err
		if begun {
			line, err = l.text()
		}
		begun = true
		if err != nil {
			return "", err
		}
		if line = url(line); line == "" {
			return "", errNoURL
		}
		return line, nil
	}
}

func (l *urlList) warnComma(url string) {
	warn(l.std, l.std.name, "line %d of %s has a comma, which is read as part of the URL %q: a CSV file begins with a header such as url", l.line, l.title, clip(url))
}

// text returns the next line that is not blank, without its line end.
func (l *urlList) text() (string, error) {
	for {
		line, err := l.in.next(l.buf)
		l.buf, l.line = line, l.in.number
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
func (l *urlList) readCSV(first string, separator byte, column int) {
	head, named := true, column >= 0
	r := csv.NewReader(io.MultiReader(strings.NewReader(first+"\n"), l.in))
	r.Comma = rune(max(separator, ','))
	if separator == '\t' {
		r.Comma = '\t'
	}
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	offset := l.line - 1
	l.read = func() (string, error) {
		for {
			row, err := r.Read()
			if err != nil {
				return "", err
			}
			line, _ := r.FieldPos(0)
			l.line = offset + line
			if column < 0 {
				column = slices.IndexFunc(row, func(s string) bool { return isURL(s) || strings.HasPrefix(s, "/") })
			}
			if head {
				if head = false; named || column < 0 {
					continue
				}
			}
			if column < 0 || column >= len(row) || strings.TrimSpace(row[column]) == "" {
				return "", errNoURL
			}
			return strings.TrimSpace(row[column]), nil
		}
	}
}

// loggedURL returns the target of the request in a line of an access log, "" for other lines:
// that of a JSON object, or what follows the method in the first quotes.
func loggedURL(line string) string {
	if strings.HasPrefix(line, "{") {
		l, _ := parseJSONLogLine([]byte(line)) // no request in an invalid line
		return target(unescape(l.request))
	}
	_, request, _ := strings.Cut(line, `"`)
	method, rest, _ := strings.Cut(request, " ")
	url, _, ok := strings.Cut(rest, ` HTTP/`)
	if !ok || method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return ""
	}
	if strings.HasPrefix(url, "/") || strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://") {
		return url
	}
	return "" // OPTIONS *, CONNECT host:443
}

// readSitemap reads a sitemap that begins with first. The sitemaps of an index are files
// beside it with the names that they have on the site.
func (l *urlList) readSitemap(first string) {
	x := xml.NewDecoder(io.MultiReader(strings.NewReader(first+"\n"), l.in))
	x.Strict = false
	x.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // URLs are ASCII
	offset, index, root := l.line-1, false, ""
	var child *urlList
	l.read = func() (string, error) {
		for {
			if child != nil {
				url, err := child.next()
				if l.line = child.line; !errors.Is(err, io.EOF) {
					return url, err
				}
				child.close()
				child = nil
			}
			t, err := x.Token()
			if errors.Is(err, io.EOF) {
				return "", io.EOF
			} else if err != nil {
				return "", fmt.Errorf("not a sitemap: %w", err)
			}
			e, ok := t.(xml.StartElement)
			if !ok {
				continue
			}
			if root == "" {
				root = e.Name.Local
				if index = root == "sitemapindex"; !index && root != "urlset" {
					return "", fmt.Errorf("not a sitemap: it begins with <%s>", clip(root))
				}
			}
			if e.Name.Local != "loc" || e.Name.Space != "" && !strings.Contains(e.Name.Space, "/schemas/sitemap/") {
				continue // <image:loc> is not a page
			}
			line, _ := x.InputPos()
			l.line = offset + line
			var url string
			if err := x.DecodeElement(&url, &e); err != nil {
				return "", fmt.Errorf("not a sitemap: %w", err)
			}
			if url = strings.TrimSpace(url); !index {
				return url, nil
			}
			if child, err = l.sitemap(url); err != nil {
				return "", err
			}
		}
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
