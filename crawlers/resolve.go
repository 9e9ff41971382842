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

// A Profile is what decides how a crawler reads robots.txt.
type Profile struct {
	// Name is its usual name, the first token.
	Name string `json:"name"`
	// Tokens are its product tokens for robots.File.Rules, most specific first.
	Tokens []string `json:"tokens"`
	// FurtherTokens are the tokens after the first with their kinds and sources.
	FurtherTokens []FurtherToken `json:"further_tokens,omitempty"`
	Operator      string         `json:"operator"`
	// Status is whether the name is in use, according to the sources.
	Status Status `json:"status"`
	// Dialect is the name of the dialect in which it reads robots.txt, or unknown.
	Dialect string `json:"dialect"`
	Obeys   Obeys  `json:"obeys"`
	// CrawlDelay and RequestRate are Honored, Ignored or unknown.
	CrawlDelay  string `json:"crawl_delay"`
	RequestRate string `json:"request_rate"`
	// Rival is the token of another operator's crawler whose group it obeys if the file
	// does not name it, or "".
	Rival string `json:"rival,omitempty"`
}

// Resolve returns the crawler that product tokens mean with the dialect auto (D-62). A single
// name of the directory, a User-Agent header included, is its entry; the Tokens begin with the
// name as given. A list, and one of the Spellings, is taken as given, with all other facts of
// the first token. Of other names nothing is known: they are read in RFC9309.
func Resolve(tokens ...string) Profile {
	if len(tokens) == 0 {
		tokens = []string{"*"}
	}
	p, name, ok := profileOf(tokens[0])
	if !ok {
		p = Profile{
			Name: tokens[0], Operator: Unknown, Status: Unknown, Dialect: Unknown, Obeys: Unknown, CrawlDelay: Unknown,
			RequestRate: Unknown,
		}
	}
	p.Tokens = slices.Clone(tokens)
	if len(tokens) > 1 || name == "" {
		p.FurtherTokens = nil
		return p
	}
	if at := slices.IndexFunc(p.FurtherTokens, func(f FurtherToken) bool { return strings.EqualFold(f.Token, name) }); at >= 0 {
		own := p.FurtherTokens[at]
		own.Token = p.Name
		p.FurtherTokens = append([]FurtherToken{own}, slices.Concat(p.FurtherTokens[:at], p.FurtherTokens[at+1:])...)
	}
	for _, f := range p.FurtherTokens {
		p.Tokens = append(p.Tokens, f.Token)
	}
	return p
}

// profileOf returns the entry that Find returns for a value, without its Tokens, and the token of
// it in the value, "" for one of its Spellings.
func profileOf(value string) (p Profile, token string, ok bool) {
	value = strings.TrimSpace(value)
	for i, token := range append([]string{value}, robots.ProductTokens(value)...) {
		if i > 0 && token == value {
			continue
		}
		if p, spelling, ok := readProfile(token); ok {
			if spelling {
				token = ""
			}
			return p, token, true
		}
	}
	return p, "", false
}

// ReadAs returns the dialect of a crawler, RFC9309 if that is unknown, with the delays that the
// crawler honors.
func (p Profile) ReadAs() robots.Dialect {
	d, ok := robots.DialectByName(p.Dialect)
	if !ok {
		d = robots.RFC9309
	}
	d.CrawlDelay = honorOf(p.CrawlDelay, d.CrawlDelay)
	d.RequestRate = honorOf(p.RequestRate, d.RequestRate)
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
func (p Profile) Binds() Binds {
	switch p.Obeys {
	case ObeysNamed:
		return BindsNotByStar
	case UserInitiated: // no entry's document states that it obeys a group that names it
		return BindsNo
	}
	return BindsYes
}

// Fallback returns the further token whose group applies in rules for the crawler's Tokens. It
// returns false if a group names the first token, or none names any.
func (p Profile) Fallback(r *robots.Rules) (FurtherToken, bool) {
	if len(p.FurtherTokens) == 0 {
		return FurtherToken{}, false
	}
	token := r.Group().Token()
	for _, f := range p.FurtherTokens {
		if strings.EqualFold(f.Token, token) {
			return f, true
		}
	}
	return FurtherToken{}, false
}

// FallbackSentence explains that the group of a further token applies: "Applebot is not named; it
// follows the group of Googlebot (Apple's documentation)".
func (p Profile) FallbackSentence(f FurtherToken) string {
	source := p.Operator + "'s documentation"
	if f.Source == Reported {
		source = Reported
	}
	name := p.Tokens[0]
	if strings.ContainsAny(name, " /") { // a header
		name = p.Name
	}
	switch f.Kind {
	case Alias:
		return name + " is not named; it follows the group of its other name " + f.Token + " (" + source + ")"
	case Renamed:
		when := "now"
		other, spelling, _ := readProfile(f.Token)
		if strings.EqualFold(f.Token, p.Name) || !spelling && strings.EqualFold(f.Token, other.Name) && other.Status == Former {
			when = "formerly"
		}
		return name + ", " + when + " " + f.Token + ", is not named; it follows the group of " + f.Token + " (" + source + ")"
	}
	return name + " is not named; it follows the group of " + f.Token + " (" + source + ")"
}
