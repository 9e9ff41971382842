package compare

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

func TestNames(t *testing.T) {
	for _, c := range []struct{ dialect, body, want string }{
		{"rfc9309", "User-agent: foo2\nUser-agent: foo3\nDisallow: /a\n", "* foo foo2 foo3"},
		{"bing", "User-agent: foo2\nDisallow: /a\nUser-agent: foo3\nDisallow: /b\n", "* foo foo2 foo3"},
		{"google", "User-agent: foo2\nUser-agent: foo3\nDisallow: /a\n", "* foo"},
		{"rfc9309", "User-agent: AI2Bot\nDisallow: /\n", "* ai2bot"}, // the same lines name ai
		{"rfc9309", "User-agent: AI2Bot\nDisallow: /\n\nUser-agent: ai\nDisallow: /a\n", "* ai ai2bot"},
		{"rfc9309", "User-agent: a/1 (b) c/2\nUser-agent: a\nDisallow: /", "*|a|a/1 (b) c/2"},
		{"seznam", "User-agent: a/1 (b) c/2\nUser-agent: a\nDisallow: /", "* a c"}, // the products of a header
		{"yandex", "User-agent: foo2\nUser-agent: foo3\nDisallow: /", "* foo2 foo3"},
		{"google-cpp", "User-agent: 008\nDisallow: /", "* "}, // the empty token
		{"google", "User-agent: 008\nDisallow: /", "*"},
		{"rfc9309", "User-agent: *\nDisallow: /", "*"},
		{"rfc9309", "", "*"},
	} {
		separator := " "
		if strings.Contains(c.want, "|") {
			separator = "|"
		}
		d, _ := robots.DialectByName(c.dialect)
		f := robots.Parse([]byte(c.body))
		if got := strings.Join(Names(f.Rules(d), f.Rules(d)), separator); got != c.want {
			t.Errorf("%s: %q: %q, want %q", c.dialect, c.body, got, c.want)
		}
	}
	for body, want := range map[string]string{
		"User-agent: Bingbot2.0\nUser-agent: Googlebot3\nDisallow: /":          "* rfc9309, bingbot bing, bingbot2.0 rfc9309, googlebot google, googlebot3 rfc9309", // Applebot has the rules of googlebot3
		"User-agent: Applebot\nUser-agent: Googlebot\nDisallow: /":             "* rfc9309, applebot rfc9309, googlebot google",
		"User-agent: Yandex\nDisallow: /\nUser-agent: YandexBot\nDisallow: /a": "* rfc9309, yandex yandex, yandexbot yandex",
		"User-agent: Qwantify\nDisallow: /":                                    "* rfc9309, qwantify rfc9309", // Qwantbot has the same rules
	} {
		var got []string
		for _, c := range Crawlers(robots.Parse([]byte(body))) {
			got = append(got, c.Name+" "+c.ReadAs().Name)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: crawlers %s, want %s", body, strings.Join(got, ", "), want)
		}
	}
}

// TestNamesCorpus: every form of every user-agent value has the rules of one of the names, also
// where the groups of a real file are changed: the values of two lines are swapped.
func TestNamesCorpus(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	several := 0 // files in which one token is named by lines with different names
	campaign.Files(t, campaign.Size(512, 64, 1), func(path string, body []byte) {
		before, after := robots.Parse(body), robots.Parse(swapAgents(rng, body))
		for _, d := range robots.Dialects() {
			known := map[string][2]string{}
			rulesOf := func(name string) [2]string {
				texts, ok := known[name]
				if !ok {
					texts = [2]string{rulesText(before.Rules(d, name)), rulesText(after.Rules(d, name))}
					known[name] = texts
				}
				return texts
			}
			compared := map[[2]string]bool{}
			all := Names(before.Rules(d), after.Rules(d))
			if d.Name == robots.RFC9309.Name && len(all)-1 > len(firstNames(d, before, after)) {
				several++
			}
			for _, name := range all {
				compared[rulesOf(name)] = true
			}
			for _, f := range []*robots.File{before, after} {
				for l := range f.Lines(d) {
					for _, name := range l.Names {
						if !compared[rulesOf(name)] {
							t.Errorf("%s, %s: the rules of %q are not those of any of %q", path, d.Name, name, all)
						}
					}
				}
			}
		}
	})
	t.Logf("%d files have a token that lines with different names share", several)
}

// firstNames returns the intended names of user-agent lines.
func firstNames(d robots.Dialect, files ...*robots.File) []string {
	var all []string
	for _, f := range files {
		all = append(all, f.Crawlers(d)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// rulesText returns the rules as written, in their order.
func rulesText(r *robots.Rules) string {
	var text strings.Builder
	for rule := range r.All() {
		text.WriteString(rule.String() + "\n")
	}
	return text.String()
}

// swapAgents returns a file in which two user-agent lines have changed places.
func swapAgents(rng *rand.Rand, body []byte) []byte {
	lines := strings.SplitAfter(string(body), "\n")
	var agents []int
	for i, line := range lines {
		if len(line) > 10 && strings.EqualFold(line[:10], "user-agent") {
			agents = append(agents, i)
		}
	}
	if len(agents) > 1 {
		a, b := agents[rng.IntN(len(agents))], agents[rng.IntN(len(agents))]
		lines[a], lines[b] = lines[b], lines[a]
	}
	return []byte(strings.Join(lines, ""))
}
