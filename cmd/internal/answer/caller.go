package answer

import (
	"slices"
	"strings"
	"unicode"

	"github.com/robotskit/robots"
)

// NoName is the name of clients that send no User-Agent header. No robots.txt is checked for them: they may be no crawlers.
const NoName = "(no User-Agent)"

// maxName limits the name of a caller, in bytes.
const maxName = 40

// crawlerWords are parts of the names of programs that fetch pages by themselves, in lower case.
var crawlerWords = []string{
	"bot", "crawl", "spider", "slurp", "scrap", "fetch", "scan", "headless", "monitor", "archiv", "preview", "index", "validat", "check",
	"phantom", "lighthouse", "synthetic",
}

// browserNames are product tokens of browsers, in lower case.
var browserNames = []string{
	"mozilla", "applewebkit", "gecko", "chrome", "safari", "version", "mobile", "msie", "firefox", "edg",
	"opr", "trident", "khtml", "konqueror",
	"windows nt",
}

// callerName returns the name that a program gives itself in a User-Agent header: a crawler that is not in
// the directory, or a library such as python-requests. It is "" for the header of a browser, which begins
// with Mozilla and neither names a crawler nor has the contact of an operator.
func callerName(header string) string {
	header = strings.TrimSpace(header)
	if header == "" || header == "-" {
		return NoName
	}
	tokens := robots.ProductTokens(header)
	notBrowser := func(token string) bool {
		return token != header && !slices.Contains(browserNames, strings.ToLower(token))
	}
	if !strings.HasPrefix(header, "Mozilla/") && !strings.HasPrefix(header, "Opera/") {
		if i := slices.IndexFunc(tokens, notBrowser); i >= 0 {
			return clipName(tokens[i])
		}
		product, _, _ := strings.Cut(header, "/")
		return clipName(product)
	}
	tokens = tokens[:max(len(tokens)-1, 1)] // the last is the whole header
	if i := slices.IndexFunc(tokens, isCrawlerName); i >= 0 {
		return clipName(tokens[i])
	}
	if introduces(header) {
		notBrowser := func(token string) bool {
			return token != header && !slices.Contains(browserNames, strings.ToLower(token))
		}
		if i := slices.IndexFunc(tokens, notBrowser); i >= 0 {
			return clipName(tokens[i])
		}
	}
	words := strings.FieldsFunc(header, func(r rune) bool { return strings.ContainsRune(" \t+;,()[]/", r) })
	if i := slices.IndexFunc(words, isCrawlerName); i >= 0 {
		return clipName(words[i])
	}
	return ""
}

// introduces reports whether a header introduces a program: with a URL or an email address of its operator, or
// as compatible with browsers and not as one of the browsers that did so.
func introduces(header string) bool {
	return strings.Contains(header, "://") || strings.Contains(header, "www.") || strings.Contains(header, "@") ||
		strings.Contains(header, "compatible;") && !strings.Contains(header, "MSIE") && !strings.Contains(header, "Konqueror")
}

// isCrawlerName reports whether a name is that of a crawler by its parts. Cubot makes phones.
func isCrawlerName(name string) bool {
	lower := strings.ToLower(name)
	contains := func(word string) bool { return strings.Contains(lower, word) }
	return slices.ContainsFunc(crawlerWords, contains) && !strings.HasPrefix(lower, "cubot")
}

// clipName limits a name. It begins with a letter or digit, so that it is no formula in a spreadsheet.
func clipName(name string) string {
	name = strings.TrimLeftFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if name == "" {
		return otherPrograms
	}
	if len(name) > maxName {
		return strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return name
}
