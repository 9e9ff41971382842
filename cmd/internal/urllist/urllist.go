// Package urllist reads the forms in which people have lists of URLs: lines, CSV such as exports of Search Console, and sitemaps.
// It is compiled for browsers too, where people paste them.
package urllist

import (
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// A Kind is the form of a pasted text.
type Kind string

// The kinds.
const (
	Lines   Kind = "lines"
	CSV     Kind = "csv"
	Sitemap Kind = "sitemap"
	Index   Kind = "index"  // a sitemap index, whose URLs are those of sitemaps
	Robots  Kind = "robots" // a robots.txt: rules for crawlers, and no list
	Markup  Kind = "markup" // HTML or another XML document, without a list
)

// A List is what a pasted text has.
type List struct {
	Kind Kind
	URLs []string // paths and URLs in the order of the text, each once
}

// Read reads a text without a name, so its form decides. A line such as shop.example/foo is a URL of https.
func Read(text string) List {
	text = strings.TrimPrefix(text, "\ufeff")
	list := List{Kind: Lines}
	lines := nonBlank(text)
	switch {
	case len(lines) == 0:
		return list
	case lines[0][0] == '<':
		list = readMarkup(text)
	case isRobots(text):
		list.Kind = Robots
	default:
		if c, ok := guessColumn(lines); ok {
			list.Kind = CSV
			list.URLs = c.read(text)
		} else {
			list.URLs = lines
		}
	}
	for i, url := range list.URLs {
		list.URLs[i] = withScheme(url)
	}
	list.URLs = unique(list.URLs)
	return list
}

// nonBlank returns the lines of a text without blank ones, and without the spaces around them.
func nonBlank(text string) (lines []string) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimSpace(line)
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func unique(urls []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(urls, func(url string) bool {
		known := seen[url]
		seen[url] = true
		return known || url == ""
	})
}

// isRobots reports whether some line of a text is one of a group: a user-agent line or a rule.
func isRobots(text string) bool {
	for line := range robots.Parse([]byte(text)).Lines(robots.RFC9309) {
		switch line.Field {
		case robots.FieldUserAgent, robots.FieldAllow, robots.FieldDisallow:
			return true
		}
	}
	return false
}

// IsURL reports whether a field of CSV is a URL or a path.
func IsURL(field string) bool { return strings.Contains(field, "://") || strings.HasPrefix(field, "/") }

// fileEndings are what follows the last dot in names of files, which are no hosts.
var fileEndings = []string{"asp", "aspx", "css", "gif", "htm", "html", "jpeg", "jpg", "js", "json", "pdf", "php", "png", "svg", "txt", "webp", "xml"}

// withScheme returns a URL that begins with the name of a host, such as shop.example/foo, as one of https. Any other text stays
// as it is.
func withScheme(url string) string {
	if IsURL(url) {
		return url
	}
	host := url
	if i := strings.IndexAny(url, "/?#"); i >= 0 {
		host = url[:i]
	}
	name, _, _ := strings.Cut(host, ":")
	dot := strings.LastIndexByte(name, '.')
	isName := func(r rune) bool {
		return r >= 0x80 || r == '-' || r == '.' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	switch {
	case dot < 1 || dot == len(name)-1 || strings.ContainsFunc(name, func(r rune) bool { return !isName(r) }):
		return url
	case host == url && slices.Contains(fileEndings, strings.ToLower(name[dot+1:])):
		return url
	}
	if _, _, err := robots.ParseURL("https://" + url); err != nil {
		return url
	}
	return "https://" + url
}
