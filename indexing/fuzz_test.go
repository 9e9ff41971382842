package indexing

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
)

// checkPage checks what is true of every page: limits, that directives in force count for an
// engine, that every directive has an effect, and that a page that may not be fetched is never
// reported as indexed.
func checkPage(t *testing.T, p *Page) {
	t.Helper()
	if len(p.Directives) > MaxDirectives {
		t.Fatalf("%d directives", len(p.Directives))
	}
	for _, d := range p.Directives {
		if d.IsZero() || len(d.Name) > MaxText || len(d.Value) > MaxText || len(d.Agent) > MaxText {
			t.Fatalf("directive %+v", d)
		}
		if (d.Rule == Unknown) != (d.Problem == UnknownRule || d.Problem == MissingComma) {
			t.Fatalf("rule and problem of %+v", d)
		}
		if (d.Place.Header > 0) == (d.Place.Line > 0) {
			t.Fatalf("%+v is nowhere, or in two places", d)
		}
	}
	shut := robots.DisallowAll(robots.RFC9309, robots.ReasonRule).Match(robots.RawPath("/"))
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for e := range engineCount {
		o := p.Outlook(nil, now, e, "googlebot")
		d := &o.Directives
		if len(d.Readings) != len(p.Directives) {
			t.Fatalf("%s: %d of %d directives are read", e, len(d.Readings), len(p.Directives))
		}
		for _, r := range d.Readings {
			counts := !d.By(r.Rule).IsZero() || r.Rule == None && !(d.By(NoIndex).IsZero() && d.By(NoFollow).IsZero())
			permits := r.Rule >= All && r.Rule <= Archive
			if r.Effect == Counts && !counts && !permits || r.Effect == Hidden {
				t.Fatalf("%s: %s has the effect %s", e, r, r.Effect)
			}
		}
		if no := !d.By(NoIndex).IsZero(); no && o.Index.Is != No || o.Index.Is != No && o.Index.Is != Yes || o.Index.Is == No && o.Snippet.Is != No {
			t.Fatalf("%s: %+v", e, o)
		}
		o = p.Outlook(&shut, now, e, "googlebot")
		if o.Crawl.Is != No || o.Index.Is != AddressOnly {
			t.Fatalf("%s: %+v may not be fetched", e, o)
		}
		if hidden := strings.Contains(readings(o.Directives), "=hidden"); hidden == o.Hidden.IsZero() || strings.Contains(readings(o.Directives), "=counts") {
			t.Fatalf("%s: %s hides %s", e, readings(o.Directives), o.Hidden)
		}
	}
}

func FuzzHeader(f *testing.F) {
	for _, s := range []string{
		"noindex, nofollow", "googlebot: noindex, otherbot: none", "unavailable_after: Sunday, 06-Nov-94 08:49:37 GMT, noindex",
		"max-snippet:-1, max-image-preview:large", "indexifembedded,noindex,,:,", "a: b: c", "index, noindex, all, none",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		p := Parse(http.Header{"X-Robots-Tag": {line}}, nil)
		checkPage(t, p)
		// A line is read the same in any letter case, and its directives are the same as when
		// each is alone.
		if got, want := show(Parse(http.Header{"X-Robots-Tag": {upper(line)}}, nil).Directives), show(p.Directives); lower(got) != lower(want) {
			t.Fatalf("in upper case\n%s\nnot\n%s", got, want)
		}
		for _, d := range p.Directives {
			if d.Rule == Unknown || len(d.String()) > MaxText || !utf8.ValidString(line) {
				continue
			}
			again := Parse(http.Header{"X-Robots-Tag": {d.String()}}, nil).Directives
			if len(again) != 1 || again[0].Rule != d.Rule || again[0].Number != d.Number || !again[0].Time.Equal(d.Time) || again[0].Agent != d.Agent {
				t.Fatalf("%s alone is %s", d, show(again))
			}
		}
	})
}

func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

func FuzzHTML(f *testing.F) {
	for _, s := range []string{
		"<head><meta name=robots content='noindex, nofollow'>", "<!-- <meta name=robots content=noindex> -->", "<template><meta name=googlebot content=all>",
		"<script><!--<script></script>", utf16Of("<meta name=robots content=noindex>", big), "\xff\xfe<", "<meta name=robots content=\"&#x2c;noindex&comma;",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, html []byte) {
		p := Parse(nil, html)
		checkPage(t, p)
		// Text in a comment is not a tag.
		if !strings.Contains(string(html), "-->") && !strings.Contains(string(html), "--!>") && utf8.Valid(html) {
			if hidden := Parse(nil, []byte("<!-- "+string(html)+" -->")); len(hidden.Directives) > 0 {
				t.Fatalf("in a comment: %s", show(hidden.Directives))
			}
		}
	})
}
