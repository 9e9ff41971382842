// Package crawlers is a directory of web crawlers: their operators and purposes, their
// product tokens for robots.txt, and what their operators document about obeying it.
// A [Verifier] checks whether an IP address belongs to a crawler, and [Callers] finds the
// rules of many crawlers in one file.
//
//	c := crawlers.Resolve("Applebot")
//	fmt.Println(c.Operator, c.Tokens) // Apple [Applebot Googlebot]
//	rules := file.Rules(c.ReadAs(), c.Tokens...)
//
// [Resolve] returns all that the dialect "auto" means for a crawler in one value, its [Profile]:
// its product tokens, of which [Profile.Fallback] names the one that decided, its dialect with the
// delays that it honors ([Profile.ReadAs]), and whether the file addresses it ([Profile.Binds]).
// It takes microseconds. [Find] returns all facts.
//
// The directory is data, directory.json. Each fact has its source document and the date on
// which that was read, and is "unknown" if no document states it. The facts are what
// documents state; whether crawlers behave so was not measured.
package crawlers

import (
	"strings"

	"github.com/robotskit/robots"
)

// Unknown is the value of a field that no document states.
const Unknown = "unknown"

// A Crawler is an entry of the directory.
type Crawler struct {
	Profile
	// Spellings are values in real files instead of the first token, such as full headers and
	// misspellings. No crawler matches them.
	Spellings []string `json:"spellings,omitempty"`
	Purpose   Purpose  `json:"purpose"` // the main one
	// Also are further purposes that its documents state.
	Also []Purpose `json:"also,omitempty"`
	// ReverseDNS lists the domains, separated by spaces, for forward-confirmed reverse
	// DNS of its addresses. Addresses is the URL of a list of its addresses. Either can be
	// unknown.
	ReverseDNS string `json:"reverse_dns"`
	Addresses  string `json:"addresses"`
	// GoogleReads is the first token as Google's dialects read it, if they truncate it at the
	// first character other than letters, '_' and '-'; "nobody" if nothing is left of it.
	GoogleReads string `json:"google_reads,omitempty"`
	Note        string `json:"note,omitempty"`
	// Sources are the documents, the most informative first.
	Sources []Source `json:"sources"`
}

// A Source is a document and the facts taken from it.
type Source struct {
	// Document is a URL, a page of this repository, or a description: "the name itself", "real
	// robots.txt files".
	Document string `json:"document"`
	// Seen is the date of the copy that was read (a year, a month or a day), or unknown.
	Seen string `json:"seen"`
	// Says names the facts from this source: name, tokens (the fallbacks), operator, purpose, also,
	// dialect, obeys, crawl_delay, request_rate, verify.
	Says []string `json:"says"`
}

// Purpose is what a crawler is for.
type Purpose string

// The purposes, in the order of the directory.
const (
	Search     Purpose = "search"
	AITraining Purpose = "ai-training" // collects what models are trained on
	AISearch   Purpose = "ai-search"   // builds an index for a model's answers
	AIUser     Purpose = "ai-user"     // fetches pages for the user of a model
	Ads        Purpose = "ads"
	SEO        Purpose = "seo" // measures sites for their owners and rivals
	Archive    Purpose = "archive"
	Preview    Purpose = "preview" // shows what is behind a link
	Monitoring Purpose = "monitoring"
	Research   Purpose = "research"
	Security   Purpose = "security"
	Feed       Purpose = "feed"
	Tool       Purpose = "tool" // a program or library that anybody runs
	Other      Purpose = "other"
)

// Purposes returns all purposes in the order of the directory, unknown last.
func Purposes() []Purpose {
	return []Purpose{
		Search, AITraining, AISearch, AIUser, Ads, SEO, Archive, Preview, Monitoring, Research, Security, Feed, Tool, Other, Unknown,
	}
}

// Status is whether a name is in use.
type Status string

// The statuses, besides unknown, which most names in old lists have.
const (
	Used    Status = "used"    // requests have this name
	OptOut  Status = "opt-out" // no requests: it steers the use of pages that others fetch
	Token   Status = "token"   // has no requests; it addresses crawlers with other names
	Former  Status = "former"  // no longer in use
	Mistake Status = "mistake" // a name that no crawler looks for, such as that of a company
)

// Obeys is what documents state about a crawler's compliance.
type Obeys string

// The statements, besides unknown.
const (
	ObeysYes      Obeys = "yes"
	ObeysNamed    Obeys = "ignores-star"   // obeys a group that names it, but not '*'
	UserInitiated Obeys = "user-initiated" // rules might not apply: a person requested the fetch
	ObeysNo       Obeys = "no"
)

// All returns the directory by purpose, then by operator. The entries must not be changed.
func All() []Crawler {
	all := make([]Crawler, len(index().entries))
	for i := range all {
		all[i] = *index().entry(i)
	}
	return all
}

// Find returns the crawler for a value: a name of the directory in any case, a token that is no
// other crawler's name, one of its Spellings, or a User-Agent header, whose first known token
// counts (robots.ProductTokens).
func Find(value string) (Crawler, bool) {
	x := index()
	if i, ok := x.byName[strings.ToLower(strings.TrimSpace(value))]; ok {
		return *x.entry(i), true
	}
	for _, token := range robots.ProductTokens(value) {
		if i, ok := x.byName[strings.ToLower(token)]; ok {
			return *x.entry(i), true
		}
	}
	return Crawler{}, false
}

// Sender returns the crawler of a request's User-Agent header. It differs from Find in that the
// header of a browser or of a program built on one (Electron) is no crawler's, nor is a misspelling
// or a header that names link previews of two operators, which an application imitates. A crawler
// can also be named after a browser's header and a semicolon.
func Sender(userAgent string) (Crawler, bool) {
	x := index()
	preview := "" // the operator of a link preview that is named
	for _, token := range robots.ProductTokens(userAgent) {
		if strings.EqualFold(token, "Electron") {
			return Crawler{}, false
		}
		i, ok := x.byName[strings.ToLower(token)]
		if !ok || x.entry(i).Purpose != Preview {
			continue
		}
		if preview != "" && preview != x.entry(i).Operator {
			return Crawler{}, false
		}
		preview = x.entry(i).Operator
	}
	c, found := Find(userAgent)
	if !found {
		c, found = Find(afterSemicolon(userAgent))
	}
	return c, found && c.Status != Mistake
}

// afterSemicolon returns the text after the first semicolon outside comments, "" if there is none.
func afterSemicolon(header string) string {
	depth := 0
	for i, c := range []byte(header) {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth = max(depth-1, 0)
		case c == ';' && depth == 0:
			return header[i+1:]
		}
	}
	return ""
}

// IsAI reports whether the purpose is one of the three for AI.
func (p Purpose) IsAI() bool { return p == AITraining || p == AISearch || p == AIUser }
