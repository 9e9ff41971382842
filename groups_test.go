package robots

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

func TestSections(t *testing.T) {
	body := "Disallow: /early\nUser-agent: a\nCrawl-delay: 1\nUser-agent: b\nSitemap: http://h/\nDisallow:\nfoo: bar\nAllow: /x\n\nUser-agent: c\n\nUser-agent: d\nDisallow: /d\nUser-agent: e"
	for _, c := range []struct {
		dialect Dialect
		want    string // lines of the agents, then of the members
	}{
		{RFC9309, "[2 4] [3 6 8], [10 12] [13], [14] []"},
		{Seznam, "[2] [3], [4] [6 8], [10 12] [13], [14] []"},
		{Yandex, "[2 4] [3 6 8], [10] [], [12] [13], [14] []"},
	} {
		got := ""
		for _, s := range Parse([]byte(body)).Sections(c.dialect) {
			lines := func(entries []Entry) (n []int) {
				for _, e := range entries {
					n = append(n, e.Line)
				}
				return n
			}
			if got != "" {
				got += ", "
			}
			got += fmt.Sprint(lines(s.Agents), " ", lines(s.Members))
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.dialect.Name, got, c.want)
		}
	}
}

func TestCrawlers(t *testing.T) {
	body := "User-agent: AI2Bot\nUser-agent: *\nUser-agent: Googlebot/2.1\nUser-agent: Download Ninja\nUser-agent: 008\nUser-agent:\nUser-agent: googlebot\nUser-agent: Mozilla/5.0 (compatible; SeznamBot/4.0)\nDisallow: /"
	for _, c := range []struct {
		dialect Dialect
		want    []string
	}{
		{RFC9309, []string{"ai2bot", "googlebot", "download", "008", "mozilla"}},
		{Google, []string{"ai", "googlebot", "download", "mozilla"}},
		{Google2019, []string{"AI", "Googlebot", "Download", "googlebot", "Mozilla"}},
		{Seznam, []string{"ai2bot", "googlebot", "download", "008", "mozilla", "seznambot"}},
		{Yandex, []string{"ai2bot", "googlebot/2.1", "download ninja", "008", "googlebot", "mozilla/5.0 (compatible; seznambot/4.0)"}},
	} {
		if got := Parse([]byte(body)).Crawlers(c.dialect); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.dialect.Name, got, c.want)
		}
	}
}

// TestSectionsAgree: every crawler has a group, and its rules are those of the
// sections that name it.
func TestSectionsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	crawlers := 0
	for range campaign.Size(300, 5000, 100_000) {
		f := Parse(randomFile(rng))
		for _, d := range Dialects() {
			d.IndexHTML = false
			d.MaxFileBytes = rng.IntN(2) * (1 + rng.IntN(200))
			sections := f.Sections(d)
			for _, name := range f.Crawlers(d) {
				crawlers++
				r := f.Rules(d, name)
				if r.Group().IsZero() || r.Group().Token() == "*" {
					t.Fatalf("%s %q: %q has no group", d.Name, f.Bytes(), name)
				}
				var agents, rules []int
				for _, s := range sections {
					named := false
					for _, e := range s.Agents {
						if r.agent.named(&d, f.Text(e.Value)) {
							named, agents = true, append(agents, e.Line)
						}
					}
					for _, e := range s.Members {
						rule := e.Field == FieldAllow || e.Field == FieldDisallow
						if named && rule && (e.Value.Start < e.Value.End || e.Field == FieldDisallow && d.EmptyDisallowAllows) {
							rules = append(rules, e.Line)
						}
					}
				}
				var lines []int
				for rule := range r.All() {
					lines = append(lines, rule.Line())
				}
				slices.Sort(lines)
				if !slices.Equal(lines, rules) || !slices.Equal(r.Group().Lines(), agents) {
					t.Fatalf("%s %q: the rules of %q stand in lines %v of group %v, not in %v of %v", d.Name, f.Bytes(), name, lines, r.Group().Lines(), rules, agents)
				}
			}
		}
	}
	t.Logf("%d crawlers", crawlers)
}
