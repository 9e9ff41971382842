package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

func TestEffects(t *testing.T) {
	for _, c := range []struct {
		dialect robots.Dialect
		lines   string // of each rule what it is there for
	}{
		{robots.RFC9309, "Disallow: /a needed|Disallow: /a/b no-effect|Allow: /a/b/c needed"},
		{robots.RFC9309, "Disallow: /a no-effect|Disallow: /a never-decides"},
		{robots.RFC9309, "Disallow: /a needed|Disallow: /*/b$ no-effect|Disallow: /*/b needed|Allow: /x/y/b no-effect|Allow: /*/*/b needed"},
		{robots.RFC9309, "Disallow: /a never-decides|Allow: /**a never-decides|Disallow: /**a* needed|Disallow: /*a never-decides"},
		{robots.RFC9309, "Disallow: a never-matches|Disallow: /./ needed|Disallow: /?./ needed|Disallow: /a$b needed"},
		{robots.RFC9309, "Disallow: /robots.txt$ never-decides|Disallow: /robots.txt needed"},
		{robots.GoogleCPP, "Disallow: /robots.txt$ no-effect|Disallow: /robots.txt needed"},
		{robots.Google, "Disallow: /d/ needed|Allow: /d/index.html needed|Allow: /index.htm no-effect|Disallow: /%7E needed|Disallow: /./a never-matches|Disallow: /a b never-matches"},
		{robots.Yandex, "Disallow:  no-effect|Disallow: /*/a needed"},
	} {
		var lines []string
		var want []string
		for l := range strings.SplitSeq(c.lines, "|") {
			i := strings.LastIndex(l, " ")
			lines, want = append(lines, l[:i]), append(want, l[i+1:])
		}
		var got []string
		for _, e := range Effects(parse(c.dialect, lines...), Options{}) {
			got = append(got, e.Use.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s %q:\n got %v\nwant %v", c.dialect.Name, lines, got, want)
		}
	}
	if e := Effects(parse(robots.RFC9309, "Disallow: /a"), Options{Steps: math.MaxInt}); e[0].Use != Needed {
		t.Errorf("with all the steps that there are: %v", e)
	}
	all := robots.Parse([]byte("User-agent: *\nDisallow: /a")).Rules(robots.RFC9309).UserInitiated()
	if e := Effects(all, Options{}); len(e) != 1 || e[0].Use != NeverDecides {
		t.Errorf("a rule that is never asked: %v", e)
	}
	if e := Effects(nil, Options{}); len(e) != 0 {
		t.Errorf("rules of nobody: %v", e)
	}
}

// TestEffectsKnown: known uses are returned and take no steps.
func TestEffectsKnown(t *testing.T) {
	rules := parse(robots.Google, "Disallow: /a/index.html", "Allow: /a/index.html", "Disallow: /*a", "Allow: /b")
	found := Effects(rules, Options{})
	var known []Use
	for rule := range rules.All() {
		i := slices.IndexFunc(found, func(e Effect) bool { return e.Rule.Span() == rule.Span() })
		known = append(known, found[i].Use)
	}
	steps := func(effects []Effect) (sum int) {
		for _, e := range effects {
			sum += e.Steps
		}
		return sum
	}
	for i := range known {
		some := slices.Clone(known)
		some[i] = Undecided
		again := Effects(rules, Options{Known: some})
		same := slices.EqualFunc(again, found, func(a, b Effect) bool { return a.Rule == b.Rule && a.Use == b.Use })
		if !same || steps(again) >= steps(found) {
			t.Errorf("without the use of rule %d: %v in %d steps, want %v in less than %d", i, again, steps(again), found, steps(found))
		}
	}
}

// TestEffectsDrawn: without the rules that have no effect, or one that is needed, the comparison
// is the same or differs.
func TestEffectsDrawn(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 7))
	counts := map[Use]int{}
	for range campaign.Size(100, 1_000, 50_000) {
		var lines []string
		for range 1 + rng.IntN(6) {
			lines = append(lines, []string{"Allow: /", "Disallow: /"}[rng.IntN(2)]+words("ab/*$.", 3)[rng.IntN(259)])
		}
		d := robots.Dialects()[rng.IntN(8)]
		r := parse(d, lines...)
		for i, e := range Effects(r, Options{}) {
			counts[e.Use]++
			less := Rules(r, parse(d, slices.Delete(slices.Clone(lines), i, i+1)...), Options{})
			if e.Use == Undecided || e.Use == Needed != less.Differs() || e.Use != Needed && !less.Same() {
				t.Fatalf("%s %q: line %d is %v, without it %v", d.Name, lines, e.Rule.Line(), e.Use, less)
			}
			for _, p := range words("ab/.", 3) {
				if v := r.Match(site("/" + p)); canonical("/"+p) && e.Use >= NeverDecides && v.Rule.Line() == e.Rule.Line() {
					t.Fatalf("%s %q: line %d is %v, but decides /%s", d.Name, lines, e.Rule.Line(), e.Use, p)
				}
			}
		}
	}
	t.Log(counts)
}

func TestEvery(t *testing.T) {
	r := parse(robots.Google, "Disallow: /cart", "Allow: /products/", "Disallow: /products/*.pdf$", "Disallow: /")
	for _, c := range []struct {
		pattern string
		allowed bool
		path    string
	}{
		{"/products/*", true, "/products/.pdf"},
		{"/products/*.html", true, "/products/.html.pdf"},
		{"/products/*.html$", true, ""},
		{"/cart", false, ""},
		{"/", false, "/products/"},
		{"/robots.txt", false, ""}, // itself is left out
		{"/*.pdf$", false, ""},
		{"/./", true, ""}, // no URL
	} {
		got, err := Every(r, c.pattern, c.allowed, Options{})
		if err != nil || !got.Complete || got.Path != c.path || got.Holds != (c.path == "") {
			t.Errorf("every %q %v: %+v, %v", c.pattern, c.allowed, got, err)
		}
		if got.Path != "" && got.Verdict.Allowed == c.allowed {
			t.Errorf("every %q: %v", c.pattern, got.Verdict)
		}
	}
	for _, pattern := range []string{"", " /a", "/a#", "/a\nAllow: /b", "/a\nDisallow: /b"} {
		if c, err := Every(r, pattern, true, Options{}); err == nil {
			t.Errorf("every %q: %+v", pattern, c)
		}
	}
	for _, whole := range []struct {
		rules   *robots.Rules
		allowed bool
	}{
		{nil, false},
		{robots.AllowAll(robots.RFC9309, robots.ReasonUnavailable), true},
		{robots.DisallowAll(robots.RFC9309, robots.ReasonUnreachable), false},
		{r.UserInitiated(), true},
	} {
		if c, err := Every(whole.rules, "/", whole.allowed, Options{}); err != nil || !c.Holds {
			t.Errorf("%+v: %+v, %v", whole, c, err)
		}
		if c, err := Every(whole.rules, "/", !whole.allowed, Options{}); err != nil || c.Path != "/" {
			t.Errorf("%+v: %+v, %v", whole, c, err)
		}
	}
}

// TestEffectsAnyDialect: an effect that is the same in any dialect is so where rules have the same patterns, weights
// and verdicts, and a rule that only rules with its own verdict override is not opposed.
func TestEffectsAnyDialect(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 1))
	text := func(r *robots.Rules) (keys []ruleKey) {
		for rule := range r.All() {
			keys = append(keys, keyOf(rule))
		}
		return keys
	}
	shared := 0
	for range campaign.Size(20, 200, 100_000) {
		var lines []string
		for range 1 + rng.IntN(6) {
			path := []string{"", "robots.txt", "robots.txt$", "%2A", "*", "a", "a", "b", "./"}[rng.IntN(9)] + words("ab/*$.", 3)[rng.IntN(259)]
			lines = append(lines, []string{"Allow: /", "Disallow: /"}[rng.IntN(2)]+path)
		}
		for _, d := range robots.Dialects() {
			r := parse(d, lines...)
			for _, other := range robots.Dialects() {
				q := parse(other, lines...)
				if !slices.Equal(text(r), text(q)) {
					continue
				}
				effects := Effects(q, Options{})
				for i, e := range Effects(r, Options{}) {
					if e.AnyDialect && e.Use != effects[i].Use {
						t.Fatalf("%q: line %d is %v in %s and %v in %s", lines, e.Rule.Line(), e.Use, d.Name, effects[i].Use, other.Name)
					}
					if e.AnyDialect && other.Name != d.Name {
						shared++
					}
					if !e.Unopposed {
						continue
					}
					if c, _ := Every(r, e.Rule.Path(), e.Rule.Allows(), Options{}); c.Path != "" {
						t.Fatalf("%s %q: line %d is unopposed, but %s is not decided as it says", d.Name, lines, e.Rule.Line(), c.Path)
					}
				}
			}
		}
	}
	if shared == 0 {
		t.Error("no effect is the same in any dialect")
	}
}
