// Package ask parses what flags, lines of a batch and HTTP requests have in common: a dialect,
// product tokens, a URL, a time.
package ask

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
)

// AllDialects is the name that stands for all dialects, where a table of them is possible.
const AllDialects = "all"

// AutoDialect is the name that stands for all that the directory documents of the crawler: its
// dialect, tokens and delays (D-62).
const AutoDialect = "auto"

// Dialect returns the dialect with a name, or an error that lists the known names.
func Dialect(name string) (robots.Dialect, error) {
	d, ok := robots.DialectByName(name)
	if !ok {
		return d, fmt.Errorf("unknown dialect %q%s", Clip(name), Hint(name, DialectNames()))
	}
	return d, nil
}

// Crawler returns the crawler with product tokens as the word of a dialect means it: AutoDialect
// (D-62), or the name of a dialect, which takes exactly these tokens.
func Crawler(dialect, name string, tokens ...string) (answer.Crawler, error) {
	if dialect == AutoDialect {
		return answer.Auto(name, tokens...), nil
	}
	d, err := Dialect(dialect)
	return answer.InDialect(d, name, tokens...), err
}

// DialectFor returns the dialect of a Crawler.
func DialectFor(name string, tokens ...string) (robots.Dialect, error) {
	c, err := Crawler(name, "", tokens...)
	return c.Dialect, err
}

// DialectNames returns the names of the dialects, the default first.
func DialectNames() []string {
	var names []string
	for _, d := range robots.Dialects() {
		names = append(names, d.Name)
	}
	return names
}

// Address reads an IPv4 or IPv6 address.
func Address(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%q is not an IP address such as 66.249.66.1 or 2001:4860:4801::1", Clip(text))
	}
	return a.Unmap(), nil
}

// Prefix reads a prefix, or an address as the prefix of only this address.
func Prefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().Prefix(a.Unmap().BitLen())
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("%q is not an address or a prefix such as 10.0.0.0/8", Clip(text))
	}
	return p.Masked(), nil
}

// Time reads a time as RFC 3339 writes it, where t and z may be in lower case.
func Time(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, strings.ToUpper(s))
	if err != nil {
		return t, fmt.Errorf("%q is not a time such as 2026-01-31T18:00:00Z", Clip(s))
	}
	return t.UTC(), nil
}

// URL returns the path of a URL as the dialect reads it (answer.Path). If robots.txt is fetched,
// the URL must be absolute in every dialect, and its site is returned; it is zero with an error.
func URL(d robots.Dialect, rawURL string, fetched bool) (site robots.Origin, path robots.Path, err error) {
	if !fetched {
		path, err = answer.Path(d, rawURL)
		return site, path, err
	}
	if strings.HasPrefix(rawURL, "/") {
		return site, path, fmt.Errorf(
			"URL %s names no site to fetch robots.txt from; write https://example.com/page, or give the file too (-f FILE, or robots in JSON)",
			Quote(rawURL),
		)
	}
	site, path, err = robots.ParseURL(rawURL)
	if err == nil && !slices.Contains([]string{"http", "https", "ftp"}, site.Scheme()) {
		return robots.Origin{}, path, fmt.Errorf(
			"URL %s: robots.txt is fetched over http, https and ftp, not %s", Quote(rawURL), Clip(site.Scheme()),
		)
	}
	if d.Escapes == robots.EscapesRaw {
		path = robots.RawPath(rawURL)
	}
	return site, path, err
}

// Quote quotes a URL in a message, without its user and password.
func Quote(rawURL string) string { return strconv.Quote(Clip(answer.HideUser(rawURL))) }

// Credentials returns the user and password in a URL, nil if it has none. Escapes are decoded; an invalid one stays as it is.
func Credentials(rawURL string) *url.Userinfo {
	_, text, _ := answer.CutUser(rawURL)
	if text == "" {
		return nil
	}
	name, password, _ := strings.Cut(strings.TrimSuffix(text, "@"), ":")
	return url.UserPassword(unescaped(name), unescaped(password))
}

func unescaped(text string) string {
	if decoded, err := url.PathUnescape(text); err == nil {
		return decoded
	}
	return text
}

// NamesSite reports whether the name of a robots.txt is the URL of a site.
func NamesSite(name string) bool { return strings.Contains(name, "://") }

// Site returns the site whose robots.txt a URL names. The URL of a page is an error:
// https://example.com/old/robots.txt is a different file than that of the site.
func Site(name string) (robots.Origin, error) {
	origin, path, err := URL(robots.RFC9309, name, true)
	if err != nil {
		return origin, err
	}
	if p := path.String(); p != "/" && p != "/robots.txt" {
		if strings.HasSuffix(p, "/robots.txt") {
			return origin, fmt.Errorf(
				"URL %s does not count: crawlers read no robots.txt in a folder (SCOPE-09); write %s", Quote(name), origin.RobotsURL(),
			)
		}
		return origin, fmt.Errorf("URL %s is not a site; write %s", Quote(name), origin.RobotsURL())
	}
	return origin, nil
}

// Tokens returns the product tokens of one crawler from a list with commas, most specific
// first.
func Tokens(value string) ([]string, error) {
	parts := atCommas(value)
	if len(parts) == 1 {
		return parts, nil
	}
	for i, token := range parts {
		parts[i] = strings.TrimSpace(token)
		if parts[i] == "" {
			return nil, fmt.Errorf("%q: empty product token", Clip(value))
		}
	}
	return parts, nil
}

// Listed returns the first names of a value that is a list with commas, examples if one is
// empty, and nil for a single name.
func Listed(value string) (names []string) {
	all, err := Tokens(value)
	switch {
	case err != nil:
		return []string{"Googlebot", "Bingbot"}
	case len(all) == 1:
		return nil
	}
	for _, name := range all[:min(3, len(all))] {
		names = append(names, Clip(name))
	}
	return names
}

// atCommas splits a value at its commas, except those within parentheses, as in the User-Agent
// headers of browsers: "(KHTML, like Gecko)".
func atCommas(value string) []string {
	depth := 0
	from := 0
	var parts []string
	for i := range len(value) {
		switch value[i] {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		case ',':
			if depth == 0 {
				parts = append(parts, value[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, value[from:])
}
