package crawlers

import (
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// A FurtherToken is a token of a crawler after its own.
type FurtherToken struct {
	Token string    `json:"token"` // a product token
	Kind  TokenKind `json:"kind"`  // fallback, alias or renamed
	// Source is the URL of the document that states it, or Reported.
	Source string `json:"source"`
}

// Reported is the source of a token that no document of the operator states.
const Reported = "reported, not documented"

// TokenKind is why a crawler obeys the group of a further token if none names its own.
type TokenKind string

// The kinds of further tokens.
const (
	Fallback TokenKind = "fallback" // the token of another crawler
	Alias    TokenKind = "alias"    // another name of the crawler
	Renamed  TokenKind = "renamed"  // its former or newer name
)

// Honored and Ignored are the values of Crawler.CrawlDelay and RequestRate, besides unknown.
const (
	Honored = "honored"
	Ignored = "ignored"
)

// Binds is whether a robots.txt addresses a crawler. It does not state that the crawler obeys:
// see Obeys.
type Binds string

// The values of Binds.
const (
	BindsYes       Binds = "yes"
	BindsNotByStar Binds = "not-by-star" // only a group that names it, not that of '*'
	BindsNo        Binds = "no"          // a person requests its pages
)

// Resolve returns the crawler that product tokens mean with the dialect auto (D-62). A single
// name of the directory, a User-Agent header included, is its entry; the Tokens begin with the
// name as given. A list, and one of the Spellings, is taken as given, with all other facts of
// the first token. Of other names nothing is known: they are read in RFC9309.
func Resolve(tokens ...string) Crawler {
	if len(tokens) == 0 {
		tokens = []string{"*"}
	}
	given := slices.Clone(tokens)
	c, ok := Find(given[0])
	if !ok {
		return Crawler{
			Name: given[0], Tokens: given, Operator: Unknown, Purpose: Unknown, Status: Unknown, Dialect: Unknown,
			Obeys: Unknown, CrawlDelay: Unknown, RequestRate: Unknown, ReverseDNS: Unknown, Addresses: Unknown,
		}
	}
	name := c.named(given[0])
	if len(given) > 1 || name == "" {
		c.Tokens = given
		c.FurtherTokens = nil
		return c
	}
	c.FurtherTokens = c.without(name)
	c.Tokens = given
	for _, f := range c.FurtherTokens {
		c.Tokens = append(c.Tokens, f.Token)
	}
	return c
}

// named returns the first token of the crawler in a value that Find reads, "" for a spelling.
func (c Crawler) named(value string) string {
	if containsFold(c.Spellings, strings.TrimSpace(value)) {
		return ""
	}
	for _, token := range append([]string{strings.TrimSpace(value)}, robots.ProductTokens(value)...) {
		if containsFold(c.Tokens, token) {
			return token
		}
	}
	return ""
}

// without returns the tokens of the crawler other than one of them, as further tokens of that.
func (c Crawler) without(token string) []FurtherToken {
	at := slices.IndexFunc(c.FurtherTokens, func(f FurtherToken) bool { return strings.EqualFold(f.Token, token) })
	if at < 0 {
		return c.FurtherTokens
	}
	own := c.FurtherTokens[at]
	own.Token = c.Name
	return append([]FurtherToken{own}, slices.Concat(c.FurtherTokens[:at], c.FurtherTokens[at+1:])...)
}

func containsFold(list []string, value string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, value) })
}

// ReadAs returns the dialect of a crawler, RFC9309 if that is unknown, with the delays that the
// crawler honors.
func (c Crawler) ReadAs() robots.Dialect {
	d, ok := robots.DialectByName(c.Dialect)
	if !ok {
		d = robots.RFC9309
	}
	d.CrawlDelay = honorOf(c.CrawlDelay, d.CrawlDelay)
	d.RequestRate = honorOf(c.RequestRate, d.RequestRate)
	return d
}

// honorOf returns how a crawler treats a field, for which its dialect has a value.
func honorOf(word string, dialect robots.Honor) robots.Honor {
	switch {
	case word == Ignored:
		return robots.HonorIgnored
	case word == Honored && dialect != robots.HonorInherited:
		return robots.HonorObeyed
	}
	return dialect
}

// Binds reports whether a file addresses the crawler, whether or not it is known to obey.
func (c Crawler) Binds() Binds {
	switch c.Obeys {
	case ObeysNamed:
		return BindsNotByStar
	case UserInitiated: // no entry's document states that it obeys a group that names it
		return BindsNo
	}
	return BindsYes
}

// Fallback returns the further token whose group applies in rules for the crawler's Tokens. It
// returns false if a group names the first token, or none names any.
func (c Crawler) Fallback(r *robots.Rules) (FurtherToken, bool) {
	if len(c.FurtherTokens) == 0 {
		return FurtherToken{}, false
	}
	token := r.Group().Token()
	for _, f := range c.FurtherTokens {
		if strings.EqualFold(f.Token, token) {
			return f, true
		}
	}
	return FurtherToken{}, false
}

// FallbackSentence explains that the group of a further token applies: "Applebot is not named; it
// follows the group of Googlebot (Apple's documentation)".
func (c Crawler) FallbackSentence(f FurtherToken) string {
	source := c.Operator + "'s documentation"
	if f.Source == Reported {
		source = Reported
	}
	name := c.Tokens[0]
	if strings.ContainsAny(name, " /") { // a header
		name = c.Name
	}
	switch f.Kind {
	case Alias:
		return name + " is not named; it follows the group of its other name " + f.Token + " (" + source + ")"
	case Renamed:
		when := "now"
		other, _ := Find(f.Token)
		if strings.EqualFold(f.Token, c.Name) || strings.EqualFold(f.Token, other.Name) && other.Status == Former {
			when = "formerly"
		}
		return name + ", " + when + " " + f.Token + ", is not named; it follows the group of " + f.Token + " (" + source + ")"
	}
	return name + " is not named; it follows the group of " + f.Token + " (" + source + ")"
}
