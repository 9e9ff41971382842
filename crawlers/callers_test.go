package crawlers

import (
	"cmp"
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

// TestCallers: each crawler has its own rules, in its dialect.
func TestCallers(t *testing.T) {
	f := robots.Parse([]byte("User-agent: *\nDisalow: /a\nAllow: /a/%7e\n\nUser-agent: Googlebot\nUser-agent: SeznamBot/2.0\nUser-agent: bingbot\nDissallow: /a\n"))
	path := robots.RawPath("/a/b")
	for i, got := range Callers(All()).Rules(f) {
		c := All()[i]
		want := f.Rules(c.ReadAs(), c.Tokens...)
		if g, w := got.Match(path).String(), want.Match(path).String(); g != w || got.Dialect() != want.Dialect() {
			t.Errorf("%s: together it is %s, alone %s", c.Name, g, w)
		}
	}
}

var review = flag.Bool("review", false, "print what the directory lacks, and what is old (make crawlers)")

// TestRealFiles: the directory contains every name that is in three of a thousand real files. With
// -review it prints the most frequent names that it lacks.
func TestRealFiles(t *testing.T) {
	files := map[string]int{} // that name a value, in lower case
	read, part := 0, campaign.Size(64, 16, 1)
	if *review {
		part = 1
	}
	campaign.Files(t, part, func(_ string, body []byte) {
		read++
		f := robots.Parse(body)
		in := map[string]bool{}
		for l := range f.Lines(robots.Dialect{}) {
			value := strings.ToLower(f.Text(l.Value))
			if _, known := Find(value); !known && l.Field == robots.FieldUserAgent && value != "*" && value != "" && !in[value] {
				in[value] = true
				files[value]++
			}
		}
	})
	values := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return cmp.Or(cmp.Compare(files[b], files[a]), strings.Compare(a, b))
	})
	for i, v := range values {
		if part == 1 && 1000*files[v] >= 3*read {
			t.Errorf("%d of %d files name %q, which the directory does not know", files[v], read, v)
		} else if *review && i < 60 {
			t.Logf("not known: %4d files name %q", files[v], v)
		}
	}
}

// TestReview prints the entries whose latest source was seen more than a year ago. It fails for
// none.
func TestReview(t *testing.T) {
	if !*review {
		t.Skip("only with -review (make crawlers)")
	}
	limit := time.Now().AddDate(-1, 0, 0).Format(time.DateOnly)
	undated := 0
	for _, c := range All() {
		youngest, web := "", false
		for _, s := range c.Sources {
			if isURL(s.Document) {
				web = true
				if s.Seen != Unknown {
					youngest = max(youngest, s.Seen)
				}
			}
		}
		switch {
		case web && youngest == "":
			undated++
			t.Logf("no date: %s, %s", c.Name, c.Sources[0].Document)
		case web && youngest < limit:
			t.Logf("old: %s, seen %s, %s", c.Name, youngest, c.Sources[0].Document)
		}
	}
	t.Logf("%d entries have no source with a date", undated)
}
