package indexing

import (
	"encoding/binary"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
)

// checkPage checks what is true of every page: its limits, that each directive has one place and an
// effect, that only a noindex keeps a page out of an index, and that nothing counts on a page that
// may not be fetched.
func checkPage(t *testing.T, p *Page) {
	t.Helper()
	if len(p.Directives) > MaxDirectives {
		t.Fatalf("%d directives", len(p.Directives))
	}
	for _, d := range p.Directives {
		if d.IsZero() || max(len(d.Name), len(d.Value), len(d.Agent)) > MaxText || (d.Place.Header > 0) == (d.Place.Line > 0) || (d.Rule == Unknown) != (d.Problem == UnknownRule || d.Problem == MissingComma) {
			t.Fatalf("directive %+v", d)
		}
	}
	shut := robots.DisallowAll(robots.RFC9309, robots.ReasonRule).Match(robots.RawPath("/"))
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for e := range engineCount {
		o := p.Outlook(nil, now, e, "googlebot")
		if no := !o.Directives.By(NoIndex).IsZero(); len(o.Directives.Readings) != len(p.Directives) || no && o.Index.Is != No || o.Index.Is == No && o.Snippet.Is != No {
			t.Fatalf("%s: %+v", e, o)
		}
		o = p.Outlook(&shut, now, e, "googlebot")
		if said := readings(o.Directives); o.Crawl.Is != No || o.Index.Is != AddressOnly || strings.Contains(said, "=hidden") == o.Hidden.IsZero() || strings.Contains(said, "=counts") {
			t.Fatalf("%s: %+v may not be fetched, and hides %s", e, o, o.Hidden)
		}
	}
}

// FuzzPage: any header and page keep the laws of checkPage, and each directive of a header means
// the same alone.
func FuzzPage(f *testing.F) {
	for header, html := range map[string]string{
		"noindex, nofollow":                                            "<head><meta name=robots content='noindex, nofollow'>",
		"googlebot: noindex, otherbot: none":                           "<!-- <meta name=robots content=noindex> -->",
		"unavailable_after: Sunday, 06-Nov-94 08:49:37 GMT, noindex":   "<template><meta name=googlebot content=all>",
		"max-snippet:-1, max-image-preview:large, index, noindex, all": "<script><!--<script></script>",
		"indexifembedded,noindex,,:,":                                  utf16Of("<meta name=robots content=noindex>", binary.BigEndian),
		"a: b: c":                                                      "<meta name=robots content=\"&#x2c;noindex&comma;",
	} {
		f.Add(header, []byte(html))
	}
	f.Fuzz(func(t *testing.T, line string, html []byte) {
		p := Parse(http.Header{"X-Robots-Tag": {line}}, html)
		checkPage(t, p)
		for _, d := range p.Directives {
			if d.Place.Header == 0 || d.Rule == Unknown || len(d.String()) > MaxText || !utf8.ValidString(line) {
				continue
			}
			again := Parse(http.Header{"X-Robots-Tag": {d.String()}}, nil).Directives
			if len(again) != 1 || again[0].Rule != d.Rule || again[0].Number != d.Number || !again[0].Time.Equal(d.Time) || again[0].Agent != d.Agent {
				t.Fatalf("%s alone is %s", d, show(again))
			}
		}
	})
}
