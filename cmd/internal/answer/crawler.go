package answer

import (
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/internal/quote"
)

// A Crawler is a crawler that a question is about, all that decides its answer in one value.
type Crawler struct {
	Name    string   // as given, or of the directory
	Tokens  []string // product tokens, most specific first
	Dialect robots.Dialect

	known   crawlers.Profile // with the further tokens that are among Tokens
	implied bool             // see IsImplied
}

// IsImplied reports whether Comparable added the crawler as * in another dialect than its own. Diff leaves it out
// if * has the same changes.
func (c *Crawler) IsImplied() bool { return c.implied }

// Auto returns the crawler for product tokens with the dialect auto (D-62).
func Auto(name string, tokens ...string) Crawler {
	known := crawlers.Resolve(tokens...)
	return Crawler{Name: name, Tokens: known.Tokens, Dialect: known.ReadAs(), known: known}
}

// InDialect returns the crawler with exactly these product tokens in a dialect.
func InDialect(d robots.Dialect, name string, tokens ...string) Crawler {
	known := crawlers.Resolve(tokens...)
	known.FurtherTokens = nil
	return Crawler{Name: name, Tokens: tokens, Dialect: d, known: known}
}

// Entry returns the usual name of a crawler whose Name is that of an entry of the directory, else "".
func (c *Crawler) Entry() string {
	if e, known := crawlers.Find(c.Name); known && strings.EqualFold(e.Name, c.Name) {
		return e.Name
	}
	return ""
}

// Given returns the product tokens without those that the dialect auto adds.
func (c *Crawler) Given() []string { return c.Tokens[:len(c.Tokens)-len(c.known.FurtherTokens)] }

// Echo returns the given product tokens as the dialect reads them.
func (c *Crawler) Echo() (tokens []string) {
	given := c.Given()
	if c.Dialect.RawTokens {
		return given
	}
	for _, value := range given {
		for _, token := range robots.ProductTokens(value) {
			if !slices.Contains(tokens, token) {
				tokens = append(tokens, token)
			}
		}
	}
	if len(tokens) == 0 {
		return given
	}
	return tokens
}

// OwnTokens returns Tokens without that of another operator's crawler: its meta tags are not
// those of the crawler.
func (c *Crawler) OwnTokens() []string {
	return slices.DeleteFunc(slices.Clone(c.Tokens), func(token string) bool { return strings.EqualFold(token, c.known.Rival) })
}

// Fallback returns the token that the dialect auto added and whose group applies in rules for the
// crawler, nil if there is none.
func (c *Crawler) Fallback(r *robots.Rules) *crawlers.FurtherToken {
	if token, ok := c.known.Fallback(r); ok {
		return &token
	}
	return nil
}

// FallbackSentence explains Fallback, "" without one.
func (c *Crawler) FallbackSentence(r *robots.Rules) string {
	if token, ok := c.known.Fallback(r); ok {
		return c.known.FallbackSentence(token)
	}
	return ""
}

// Sentence explains a token that Fallback returned.
func (c *Crawler) Sentence(token crawlers.FurtherToken) string {
	return c.known.FallbackSentence(token)
}

// Binds is whether a file addresses the crawler, in every dialect.
func (c *Crawler) Binds() crawlers.Binds { return c.known.Binds() }

// MaxAboutJSON is more bytes than AppendJSON appends (TestAuto).
const MaxAboutJSON = 320

// AppendJSON appends the members fallback and binds of an answer by rules for the crawler.
func (c *Crawler) AppendJSON(dst []byte, r *robots.Rules) []byte {
	dst = append(dst, `"fallback":`...)
	if token, ok := c.known.Fallback(r); ok {
		dst = quote.Append(append(dst, `{"token":`...), token.Token)
		dst = quote.Append(append(dst, `,"kind":`...), string(token.Kind))
		dst = quote.Append(append(dst, `,"source":`...), token.Source)
		dst = append(dst, '}')
	} else {
		dst = append(dst, "null"...)
	}
	return quote.Append(append(dst, `,"binds":`...), string(c.Binds()))
}
