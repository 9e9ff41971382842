// Package page answers the questions of the page: what a pasted robots.txt says
// to many crawlers about many URLs, and why. It is compiled for browsers, where
// it runs in a worker, and the server answers by it for a page that has no
// WebAssembly: one function, [Ask], of strings, whose answer is JSON.
//
// What to show is decided here, how to show it in the scripts of the page.
package page

import (
	"strconv"
	"strings"

	"github.com/robotskit/robots"
)

// The bounds of a question. What is beyond them is left out of the answer, which
// says so where somebody could miss it.
const (
	MaxURLs     = 1000
	MaxCrawlers = 60 // columns: eight dialects of seven crawlers fit
	MaxLine     = 8 << 10
)

// Ask answers a question. The verbs and their arguments, of which body is the
// bytes of a robots.txt:
//
//	parse    body                    what is in the file, line by line
//	matrix   body crawlers urls      a verdict for each crawler and URL
//	explain  body crawler url        how one verdict came to be
//	lint     body                    mistakes, with fixes
//	mend     body                    the file after all fixes that are proved to change nothing
//	diff     before after crawlers   what changes for each crawler, over all URLs
//	rates    body crawler seconds    the pace on the day of a Unix time, in UTC
//	decides  body crawlers           which rules never decide
//	dialects                         names of dialects and crawlers
//	outlook  body crawler url text   what a search engine can do with a page: text is its headers and HTML
//
// Crawlers and urls are lines. A crawler is its dialect and its tokens, the most
// wanted first, with tabs between them. The answer is a JSON object; of a bad
// question it has the one member error, a sentence. Ask is safe for concurrent
// use.
func Ask(verb string, args ...string) string {
	v, ok := verbs[verb]
	switch {
	case !ok:
		return failure("there is no verb " + strconv.Quote(clip(verb)))
	case len(args) != v.args:
		return failure("the verb " + verb + " takes " + strconv.Itoa(v.args) + " arguments, not " + strconv.Itoa(len(args)))
	}
	var w writer
	w.open('{')
	if err := v.answer(&w, args); err != "" {
		return failure(err)
	}
	w.close('}')
	return string(w.out)
}

// A verb writes the members of its answer, or returns a sentence that says what
// is wrong with the question.
type verb struct {
	args   int
	answer func(w *writer, args []string) (wrong string)
}

var verbs = map[string]verb{
	"parse":    {1, parse},
	"matrix":   {3, matrix},
	"explain":  {3, explain},
	"lint":     {1, findings},
	"mend":     {1, mend},
	"diff":     {3, diff},
	"rates":    {3, rates},
	"decides":  {2, decides},
	"dialects": {0, dialects},
	"outlook":  {4, outlook},
}

func failure(sentence string) string {
	var w writer
	w.open('{')
	w.text("error", sentence)
	w.close('}')
	return string(w.out)
}

// clip shortens what somebody sent for a message.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// A crawler is a column: a name as one dialect reads it.
type crawler struct {
	dialect robots.Dialect
	tokens  []string
}

// readCrawler reads a dialect and tokens with tabs between them.
func readCrawler(line string) (c crawler, wrong string) {
	name, rest, _ := strings.Cut(line, "\t")
	d, ok := robots.DialectByName(name)
	if !ok {
		return c, "unknown dialect " + strconv.Quote(clip(name))
	}
	c.dialect = d
	for t := range strings.SplitSeq(rest, "\t") {
		if t != "" {
			c.tokens = append(c.tokens, t)
		}
	}
	if len(c.tokens) > 20 {
		return c, "a crawler has at most 20 names"
	}
	return c, ""
}

func readCrawlers(text string) (list []crawler, wrong string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			continue
		}
		if len(list) == MaxCrawlers {
			return nil, "more than " + strconv.Itoa(MaxCrawlers) + " crawlers are asked for"
		}
		c, wrong := readCrawler(line)
		if wrong != "" {
			return nil, wrong
		}
		list = append(list, c)
	}
	return list, ""
}

// rules is what the crawler obeys.
func (c crawler) rules(f *robots.File) *robots.Rules { return f.Rules(c.dialect, c.tokens...) }

// path takes the path out of a URL as the dialect does: google-cpp is given raw
// strings, of which none is an error (C-17).
func (c crawler) path(url string) (robots.Path, error) {
	if c.dialect.Escapes == robots.EscapesRaw {
		return robots.RawPath(url), nil
	}
	return robots.ParsePath(url)
}

// readURLs returns the lines that are not blank.
func readURLs(text string) (urls []string, wrong string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.Trim(line, " \t\r"); line == "" {
			continue
		}
		if len(urls) == MaxURLs {
			return nil, "more than " + strconv.Itoa(MaxURLs) + " URLs are asked for"
		}
		if len(line) > MaxLine {
			return nil, "a URL is longer than " + strconv.Itoa(MaxLine) + " bytes"
		}
		urls = append(urls, line)
	}
	return urls, ""
}

// A writer appends JSON. Commas are its business.
type writer struct{ out []byte }

func (w *writer) comma() {
	if n := len(w.out); n > 0 && w.out[n-1] != '{' && w.out[n-1] != '[' && w.out[n-1] != ':' {
		w.out = append(w.out, ',')
	}
}

// open begins an object or a list, as a value of a list or after name.
func (w *writer) open(bracket byte) {
	w.comma()
	w.out = append(w.out, bracket)
}

func (w *writer) close(bracket byte) { w.out = append(w.out, bracket) }

func (w *writer) name(name string) {
	w.comma()
	w.out = append(append(append(w.out, '"'), name...), '"', ':')
}

func (w *writer) list(name string)   { w.name(name); w.open('[') }
func (w *writer) object(name string) { w.name(name); w.open('{') }

func (w *writer) text(name, value string) {
	w.name(name)
	w.out = robots.AppendQuoted(w.out, value)
}

func (w *writer) number(name string, n int) {
	w.name(name)
	w.out = strconv.AppendInt(w.out, int64(n), 10)
}

func (w *writer) float(name string, f float64) {
	w.name(name)
	w.out = strconv.AppendFloat(w.out, f, 'g', 6, 64)
}

func (w *writer) yes(name string, b bool) {
	w.name(name)
	w.out = strconv.AppendBool(w.out, b)
}

// value and integer are values of a list.
func (w *writer) value(s string) {
	w.comma()
	w.out = robots.AppendQuoted(w.out, s)
}

func (w *writer) integer(n int) {
	w.comma()
	w.out = strconv.AppendInt(w.out, int64(n), 10)
}

func (w *writer) texts(name string, values []string) {
	w.list(name)
	for _, v := range values {
		w.value(v)
	}
	w.close(']')
}

func (w *writer) integers(name string, values []int) {
	w.list(name)
	for _, n := range values {
		w.integer(n)
	}
	w.close(']')
}
