// Package indexing parses the robots directives of a page, in X-Robots-Tag headers and in
// meta tags such as <meta name="robots" content="noindex">, and combines them with the
// verdict of its robots.txt into what a search engine can do with the page.
//
// robots.txt controls fetching. It does not keep a URL out of an index, since other pages
// link to it. noindex does, but only a crawler that may fetch the page can read it: if
// robots.txt blocks a page with noindex, the URL can be listed without its content.
// [Page.Outlook] reports such conflicts:
//
//	page := indexing.Parse(resp.Header, body)
//	page.Status = resp.StatusCode
//	verdict := rules.Match(path)
//	o := page.Outlook(&verdict, time.Now(), indexing.Google, "Googlebot")
//	fmt.Println(o.Crawl.Is, o.Index.Is, o.Index.Reason.Sentence())
//
// A directive applies to all crawlers, or to the one that is the name of the meta tag or
// starts the header value; both are combined. Names and values are case-insensitive. An
// [Engine] supports the directives that it documents; others are reported and ignored.
//
// The package does no I/O and reads no clock. Input is never an error, and time and memory
// are limited by MaxBytes and MaxDirectives.
package indexing

import (
	"mime"
	"strings"
	"time"
)

const (
	// MaxBytes is the number of bytes read of a page.
	MaxBytes = 512 << 10
	// MaxDirectives is the number of directives kept of a page.
	MaxDirectives = 1000
	// MaxText is the number of bytes kept of each name and value, rounded down to a
	// complete character.
	MaxText = 200
)

// A Page is the directives of a page. The zero value has none.
type Page struct {
	// Status is the HTTP status of the page, 0 if it is unknown and counts as 200. Parse
	// does not set it.
	Status int
	// Directives are the directives of the headers, then those of the meta tags.
	Directives []Directive
	// Signals are the headers that state preferences for the use of the content, such as
	// Content-Usage. No answer of this package depends on them.
	Signals []Signal
	// HTML is set if the page was read as HTML; for other content types only headers
	// are read.
	HTML bool
	// Cut is set if the page exceeds MaxBytes or MaxDirectives, so that a part of it was
	// not read.
	Cut bool
}

// A Signal is a header that states preferences: its canonical name, and a value as sent, at most 1 KiB.
type Signal struct{ Name, Value string }

// signalHeaders are the headers that Page.Signals has, at most MaxSignals of them.
var signalHeaders = [...]string{"Content-Signal", "Content-Usage", "Tdm-Reservation", "Tdm-Policy"}

// MaxSignals limits Page.Signals.
const MaxSignals = 20

// A Directive is one directive of a page.
type Directive struct {
	// Agent is the addressed crawler in lower case, "" for all.
	Agent string
	// Rule is the meaning, Unknown if no engine documents the name.
	Rule Rule
	// Name is the rule's name in lower case, Value the text after its colon.
	Name, Value string
	// Problem is why the directive has no effect, or NoProblem.
	Problem Problem
	// Number is the value of MaxSnippet in characters or MaxVideoPreview in seconds, -1 for no
	// limit, or of MaxImagePreview: 0 for none, 1 for standard, 2 for large.
	Number int
	// Time is the time of UnavailableAfter, in UTC.
	Time time.Time
	// Place is where the directive is.
	Place Place
}

// IsZero reports whether d is the zero value.
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

// A Place is an X-Robots-Tag line or a meta tag.
type Place struct {
	// Header is the number of the X-Robots-Tag line, from 1, 0 for a meta tag.
	Header int
	// Line is the line of the HTML on which the meta tag begins, from 1, 0 for a header. CR,
	// LF and CRLF each end a line.
	Line int
}

// Problem is why a directive has no effect for any engine.
type Problem uint8

// The problems.
const (
	NoProblem     Problem = iota
	UnknownRule           // no engine documents the name
	MissingComma          // rules are separated by spaces
	BadValue              // the value is invalid or missing
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
	for _, name := range signalHeaders {
		for _, value := range header[name] {
			if len(p.Signals) < MaxSignals && len(value) <= 1<<10 {
				p.Signals = append(p.Signals, Signal{name, value})
			}
		}
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
	if kind == "" { // with invalid parameters
		kind, _, _ = strings.Cut(value, ";")
		kind = lower(strings.TrimSpace(kind))
	}
	return kind == "text/html" || kind == "application/xhtml+xml"
}
