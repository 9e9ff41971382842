// Package indexing reads what a page says to search engines, in X-Robots-Tag
// headers and in meta tags such as <meta name="robots" content="noindex">, and
// combines it with the verdict of robots.txt into what an engine can do with the page.
//
// The two say different things. robots.txt says who may fetch a page; it does not keep
// the address out of an index, since others link to it. noindex keeps a page out, but
// only who may fetch the page can read it. A page that is disallowed in robots.txt and
// says noindex is therefore a contradiction: nobody reads the noindex, and the address
// may be listed without its content. Judge it with the verdict, and Outlook says so:
//
//	page := indexing.Parse(resp.Header, body)
//	page.Status = resp.StatusCode
//	verdict := rules.Match(path)
//	o := page.Outlook(&verdict, time.Now(), indexing.Google, "Googlebot")
//	fmt.Println(o.Crawl.Is, o.Index.Is, o.Index.Reason.Sentence())
//
// A rule counts for all crawlers, or for the one that a meta tag is named after or a
// header line begins with. What is said to all and what is said to one are summed.
// Names and values are read whatever their letter case. What an engine makes of them
// is data, with its sources (Engine); a rule that it does not document is reported and
// counts for nothing.
//
// The package opens no connection and reads no clock. Input is bytes of the web: it
// causes no error, and time and memory are bounded by MaxBytes and MaxDirectives.
package indexing

import (
	"mime"
	"strings"
	"time"
)

const (
	// MaxBytes is how much of a page is read.
	MaxBytes = 512 << 10
	// MaxDirectives is how many directives of a page are kept.
	MaxDirectives = 1000
	// MaxText is how many bytes are kept of each name and value, as far as no letter
	// is cut.
	MaxText = 200
)

// A Page is what a page says. The zero value is a page that says nothing.
type Page struct {
	// Status is the status of the answer, 0 for one that is not known and counts as
	// 200. Parse does not set it.
	Status int
	// Directives are those of the headers in order, then those of the meta tags.
	Directives []Directive
	// HTML says that the page was read as HTML: an answer of another type has only
	// headers.
	HTML bool
	// Cut says that a limit kept something from being read: a page longer than
	// MaxBytes, or more than MaxDirectives.
	Cut bool
}

// A Directive is one rule that a page states.
type Directive struct {
	// Agent is the crawler that is addressed, in lower case, "" for all.
	Agent string
	// Rule is what is said, Unknown if no engine here documents the name.
	Rule Rule
	// Name is the rule's name in lower case, Value what is behind its colon.
	Name, Value string
	// Problem says why the directive says nothing, NoProblem if it does.
	Problem Problem
	// Number is the value of MaxSnippet, in characters, and of MaxVideoPreview, in
	// seconds, -1 for no limit; and of MaxImagePreview 0 for none, 1 for standard,
	// 2 for large.
	Number int
	// Time is that of UnavailableAfter, in UTC.
	Time time.Time
	// Place is where it stands.
	Place Place
}

// IsZero reports whether the value is no directive.
func (d Directive) IsZero() bool { return d.Name == "" }

// String returns the directive as a page would write it: "max-snippet:20", or
// "googlebot: noindex" if it addresses one crawler.
func (d Directive) String() string {
	s := d.Name
	switch {
	case d.Rule == UnavailableAfter:
		s += ": " + d.Value
	case d.Value != "":
		s += ":" + d.Value
	}
	if d.Agent != "" {
		s = d.Agent + ": " + s
	}
	return s
}

// A Place is where a directive stands: in a line of X-Robots-Tag, or in a meta tag.
type Place struct {
	// Header is the number of the X-Robots-Tag line, from 1, 0 for a meta tag.
	Header int
	// Line is the line of the HTML on which the meta tag begins, from 1, 0 for a
	// header. CR, LF and CRLF each end one.
	Line int
}

// Problem is why a directive says nothing to anybody: a closed set.
type Problem uint8

// The problems.
const (
	NoProblem     Problem = iota
	UnknownRule           // the name is of no rule that an engine here documents
	MissingComma          // rules are written with blanks between them
	BadValue              // the value cannot be read, or is missing
	NeedlessValue         // the rule takes no value
)

// Parse reads the X-Robots-Tag lines of a header, an http.Header or any map with its keys, and the meta tags of a page,
// which can be incomplete. The header can be nil and html empty. At most MaxBytes of html are read, and none if
// Content-Type announces something else (IsHTML). Any encoding that contains ASCII works; UTF-16 is recognized by its
// byte order mark.
func Parse(header map[string][]string, html []byte) *Page {
	p := &Page{}
	for i, line := range header["X-Robots-Tag"] {
		p.readList(line, "", Place{Header: i + 1})
	}
	if len(html) > 0 && IsHTML(header) {
		p.HTML = true
		p.readHTML(html)
	}
	return p
}

// IsHTML reports whether a header announces HTML or XHTML, or no type at all. Other content types have no meta tags, so
// their bodies need not be fetched.
func IsHTML(header map[string][]string) bool {
	values := header["Content-Type"]
	if len(values) == 0 || strings.TrimSpace(values[0]) == "" {
		return true
	}
	value := values[0]
	kind, _, _ := mime.ParseMediaType(value)
	if kind == "" { // with bad parameters
		kind, _, _ = strings.Cut(value, ";")
		kind = lower(strings.TrimSpace(kind))
	}
	return kind == "text/html" || kind == "application/xhtml+xml"
}
