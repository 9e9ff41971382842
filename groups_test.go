package robots

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// TestLineGroups: Lines has the group of each line.
func TestLineGroups(t *testing.T) {
	body := "Disallow: /early\nUser-agent: a\nCrawl-delay: 1\nUser-agent: b\nSitemap: http://h/\nDisallow:\nfoo: bar\nAllow: /x\n\nUser-agent: c\n\nUser-agent: d\nDisallow: /d\nUser-agent: e"
	for _, c := range []struct {
		dialect Dialect
		want    string // line:group
	}{
		{RFC9309, " 1:-1 2:0 3:0 4:0 5:-1 6:0 8:0 10:1 12:1 13:1 14:2"},
		{Seznam, " 1:-1 2:0 3:0 4:1 5:-1 6:1 8:1 10:2 12:2 13:2 14:3"},
		{Yandex, " 1:-1 2:0 3:0 4:0 5:-1 6:0 8:0 10:1 12:2 13:2 14:3"},
	} {
		got := ""
		for l := range Parse([]byte(body)).Lines(c.dialect) {
			if l.Field > FieldUnknown {
				got += fmt.Sprintf(" %d:%d", l.Number, l.Group)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.dialect.Name, got, c.want)
		}
	}
}

func TestFileCrawlers(t *testing.T) {
	body := "User-agent: AI2Bot\nUser-agent: *\nUser-agent: Googlebot/2.1\nUser-agent: Download Ninja\nUser-agent: 008\nUser-agent:\nUser-agent: googlebot\nUser-agent: Mozilla/5.0 (compatible; SeznamBot/4.0)\nDisallow: /"
	for _, c := range []struct {
		dialect Dialect
		want    []string
	}{
		{RFC9309, []string{"ai2bot", "googlebot", "download", "008", "mozilla"}},
		{Google, []string{"ai", "googlebot", "download", "mozilla"}},
		{Google2019, []string{"AI", "Googlebot", "Download", "googlebot", "Mozilla"}},
		{Seznam, []string{"ai2bot", "googlebot", "download", "008", "seznambot"}},
		{Yandex, []string{"ai2bot", "googlebot/2.1", "download ninja", "008", "googlebot", "mozilla/5.0 (compatible; seznambot/4.0)"}},
	} {
		if got := Parse([]byte(body)).Crawlers(c.dialect); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.dialect.Name, got, c.want)
		}
	}
}

// checkLines compares Lines with Rules: every crawler that the file names, and "*", has
// the same user-agent lines and rules in both.
func checkLines(t *testing.T, body []byte) {
	t.Helper()
	f := Parse(body)
	for _, d := range Dialects() {
		names := []string{"*"}
		for r := range f.Lines(d) {
			for _, name := range r.Names {
				if !slices.Contains(names, name) && len(names) < 40 {
					names = append(names, name)
				}
			}
		}
		for _, name := range names {
			var agents, rules []int
			groups := map[int]bool{}
			for r := range f.Lines(d) {
				if slices.Contains(r.Names, name) {
					agents = append(agents, r.Number)
					groups[r.Group] = true
				}
				empty := r.Value.Start == r.Value.End && (r.Field == FieldAllow || !d.EmptyDisallowAllows)
				if (r.Field == FieldAllow || r.Field == FieldDisallow) && groups[r.Group] && !empty {
					rules = append(rules, r.Number)
				}
			}
			// The name is in the form of the dialect: Rules would read a value as the product
			// tokens in it.
			r := newRules(f, &d, nil)
			r.tokens = []string{name}
			r.limit, r.counts = f.limit(r.dialect)
			r.choose()
			var gotAgents, gotRules []int
			for field, span := range r.walk() {
				switch field {
				case FieldUserAgent:
					gotAgents = append(gotAgents, f.lineNumber(span.Start))
				case FieldAllow, FieldDisallow:
					if span.Start < span.End || field == FieldDisallow && d.EmptyDisallowAllows {
						gotRules = append(gotRules, f.lineNumber(span.Start))
					}
				}
			}
			if name == "*" && !r.agent.star {
				continue
			}
			if !slices.Equal(agents, gotAgents) || !slices.Equal(rules, gotRules) {
				t.Errorf("%s %q: user-agent lines %v, rules %v; Rules has %v, %v\n%q", d.Name, name, agents, rules, gotAgents, gotRules, body)
				return
			}
		}
	}
}

func TestLines(t *testing.T) {
	for _, body := range []string{
		"",
		"User-agent: AI2Bot\nDisallow: /a\n\nUser-agent: *\nDisallow: /\nSitemap: http://a/b\nAllow: /b\n",
		"Disallow: /x\nUser-agent: a\nCrawl-delay: 5\nUser-agent: b/1.2\n\nUser-agent: A\nAllow: /\nDisallow:\n",
		"User-agent: Mozilla/5.0 (compatible; SeznamBot/4.0)\rDisalow: /\rUser-agent: seznambot\rDisallow: /b",
		"User-agent:\nDisallow: /\nUser-agent: a b\nUser-agent: * all\nHost: x\nDisallow: /c\n",
	} {
		checkLines(t, []byte(body))
	}
	rng := rand.New(rand.NewPCG(7, 5))
	for range campaign.Size(500, 3000, 50_000) {
		checkLines(t, randomFile(rng))
	}
}
