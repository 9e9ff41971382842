package compare

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// TestDecided has decisions of design, each with the shortest URLs that are newly blocked and
// newly allowed.
func TestDecided(t *testing.T) {
	rfc, google, cpp, yandex, d2019 := robots.RFC9309, robots.Google, robots.GoogleCPP, robots.Yandex, robots.Google2019
	all := robots.AllowAll(rfc, robots.ReasonUnavailable)
	nothing := robots.DisallowAll(rfc, robots.ReasonUnreachable)
	for _, c := range []struct {
		name          string
		old, new      *robots.Rules
		blocked, open string
	}{
		{"nothing and an empty group", all, parse(rfc), "", ""},
		{"no file and a file", all, parse(rfc, "Disallow: /a"), "/a", ""},
		{"everything, without a file and with one", nothing, parse(rfc, "Disallow: /"), "", ""},
		{"everything, in a dialect without the exemption", nothing, robots.DisallowAll(cpp, robots.ReasonUnreachable), "/robots.txt", ""},
		{"a file that was unreachable", nothing, parse(rfc, "Disallow: /a"), "", "/"},
		{"an undefined failure is no permission", robots.DisallowAll(d2019, robots.ReasonUndefined), nothing, "", ""},
		{"a user's own request", parse(rfc, "Disallow: /").UserInitiated(), all, "", ""},
		{"nil allows nothing, /robots.txt neither", nothing, nil, "/robots.txt", ""},
		{"zero rules are nil", new(robots.Rules), nil, "", ""},
		{"/robots.txt is exempt", all, parse(rfc, "Disallow: /robots.txt"), "/robots.txta", ""},
		{"/robots.txt is not exempt", all, parse(cpp, "Disallow: /robots.txt"), "/robots.txt", ""},
		{"the index page of google", parse(google, "Disallow: /d/"), parse(google, "Disallow: /d/", "Allow: /d/index.html"), "", "/d/"},
		{"no index page elsewhere", parse(rfc, "Disallow: /d/"), parse(rfc, "Disallow: /d/", "Allow: /d/index.html"), "", "/d/index.html"},
		{"an empty Disallow of yandex", parse(yandex, "Disallow: /"), parse(yandex, "Disallow: /", "Disallow:"), "", "/"},
		{"is lighter than a path", parse(yandex, "Disallow: /a"), parse(yandex, "Disallow: /a", "Disallow:"), "", ""},
		{"a file too large for yandex", parse(yandex, "Disallow: /a"), parse(yandex, "Disallow: /a", "#"+strings.Repeat("x", 500_000)), "", "/a"},
		{"undefined counts by its boolean", parse(d2019, "Disallow: /*a", "Allow: /a"), parse(d2019, "Disallow: /*a"), "", ""},
		{"and differs by it", parse(d2019, "Disallow: /*a", "Allow: /aaa"), parse(d2019, "Disallow: /*a"), "/aaa", ""},
		{"two normal forms agree on what most write", parse(rfc, "Disallow: /a%2Fb*c$"), parse(google, "Disallow: /a%2fb*c$"), "", ""},
		{"but not on literal stars", parse(rfc, "Disallow: /%2A"), parse(google, "Disallow: /%2A"), "", "/*"},
		{"nor on parts of their escapes", parse(rfc, "Disallow: /*%"), parse(google, "Disallow: /*%"), "/%24", ""},
		{"to the last byte", parse(rfc, "Disallow: /a*%2"), parse(google, "Disallow: /a*%2"), "/a%24", ""},
		{"from the first", parse(rfc, "Disallow: /a*4"), parse(google, "Disallow: /a*4"), "/a%24", ""},
		{"nor on dollars inside", parse(rfc, "Disallow: /$a"), parse(google, "Disallow: /$a"), "", "/%24a"},
		{"nor on escapes that clients do not send", parse(rfc, "Disallow: /%7Ea"), parse(google, "Disallow: /%7Ea"), "", "/~a"},
		{"an escape put together is no star", parse(rfc, "Disallow: /%2A"), parse(rfc, "Disallow: /%2%41"), "/%2%41", "/*"},
		{"an escape of a letter", parse(cpp, "Disallow: /%7Ejoe/"), parse(cpp), "", "/%7Ejoe/"},
		{"any string", parse(cpp, "Disallow: /a b\x01"), parse(cpp), "", "/a b\x01"},
		{"a byte that no URI may hold", parse(rfc, "Disallow: /{x}$"), parse(rfc, "Disallow: /%7Bx"), "/{x", ""},
		{"in the form of Google", parse(google, "Disallow: /a%7B*C"), parse(google, "Disallow: /a%7B*%7C"), "", "/a{<"},
		{"of which a rule holds a part", parse(google), parse(google, "Disallow: /*7B"), "/{", ""},
		{"two forms of no dots", parse(rfc, "Disallow: /{"), parse(cpp, "Disallow: /{"), "", "/%7B"},
		{"dot segments", all, parse(rfc, "Disallow: /a/./b"), "/a/./b", ""},
		{"which Google resolves", parse(google), parse(google, "Disallow: /a/./b"), "", ""},
		{"names with dots", all, parse(rfc, "Disallow: /.a", "Disallow: /..."), "/.a", ""},
		{"paths that begin with two slashes", all, parse(rfc, "Disallow: //"), "//", ""},
		{"a path without a slash matches nothing", all, parse(rfc, "Disallow: a"), "", ""},
		{"but in google-legacy", all, parse(robots.GoogleLegacy, "Disallow: a"), "/a", ""},
		{"escapes are tried", parse(rfc, "Disallow: /%", "Disallow: /%2*/"), parse(rfc, "Disallow: /%2", "Disallow: /%2F"), "", "/%"},
		{"a huge group", parse(rfc, repeat(900, func(i int) string { return "Disallow: /" + strings.Repeat("x", i) + "/" })...),
			parse(rfc, repeat(899, func(i int) string { return "Disallow: /" + strings.Repeat("x", i) + "/" })...), "", "/" + strings.Repeat("x", 899) + "/"},
	} {
		var o Options
		if resolvesDots(c.old) != resolvesDots(c.new) {
			o.URLs = NormalURLs
		}
		r := Rules(c.old, c.new, o)
		first := func(d Direction) string {
			if !d.Complete {
				return "undecided"
			}
			if d.None() {
				return ""
			}
			return d.Changes[0].Path
		}
		if blocked, open := first(r.NewlyBlocked), first(r.NewlyAllowed); blocked != c.blocked || open != c.open {
			t.Errorf("%s: newly blocked %q, newly open %q, want %q and %q", c.name, blocked, open, c.blocked, c.open)
		}
		if r.Same() != (c.blocked+c.open == "") || r.Differs() == r.Same() {
			t.Errorf("%s: %v", c.name, r)
		}
		if again := Rules(c.old, c.new, o); again.NewlyBlocked.Steps != r.NewlyBlocked.Steps || again.NewlyAllowed.Steps != r.NewlyAllowed.Steps {
			t.Errorf("%s takes other steps the second time", c.name)
		}
	}
}

// TestOneExampleForEachRule: a rule that decides an example has no other example.
func TestOneExampleForEachRule(t *testing.T) {
	all := robots.AllowAll(robots.RFC9309, robots.ReasonUnavailable)
	d := Blocked(all, parse(robots.RFC9309, "Disallow: /aa", "Disallow: /*b", "Disallow: /aab", "Disallow: /c$", "Allow: /*/d"), Options{})
	var got []string
	for _, c := range d.Changes {
		got = append(got, c.Path+" "+c.New.Rule.Path())
	}
	if want := []string{"/b /*b", "/c /c$", "/aa /aa", "/aab /aab"}; !slices.Equal(got, want) || !d.Complete {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUndecided: without steps nothing is reported, and with few only what is true.
func TestUndecided(t *testing.T) {
	old := repeat(60, func(i int) string { return "Disallow: /*" + strings.Repeat("a*", i%7) + words("abc", 3)[i%40] })
	a, b := parse(robots.RFC9309, old...), parse(robots.RFC9309, append(old[:30:30], old[33:]...)...)
	whole := Rules(a, b, Options{})
	answers := map[string]int{}
	for steps := 1; steps < 4000; steps += 1 + steps/400 {
		r := Rules(a, b, Options{Steps: steps})
		answers[r.String()]++
		if r.Same() && whole.Differs() || r.Differs() && whole.Same() {
			t.Fatalf("%d steps: %v, but %v", steps, r, whole)
		}
		for k, d := range []Direction{r.NewlyBlocked, r.NewlyAllowed} {
			all := []Direction{whole.NewlyBlocked, whole.NewlyAllowed}[k]
			if d.Complete && len(d.Changes) != len(all.Changes) {
				t.Fatalf("%d steps are said to be enough for %d changes of %d", steps, len(d.Changes), len(all.Changes))
			}
		}
		if most := steps + 400; r.NewlyBlocked.Steps > most || r.NewlyAllowed.Steps > most {
			t.Fatalf("%d and %d steps of %d", r.NewlyBlocked.Steps, r.NewlyAllowed.Steps, steps)
		}
	}
	light := parse(robots.RFC9309, append(old[1:], "Allow: /")...)
	for steps := range 300 {
		if c, err := Every(light, "/", false, Options{Steps: 1 + steps}); err != nil || c.Holds {
			t.Fatalf("%d steps: %+v, %v", 1+steps, c, err)
		}
	}
	effects := Effects(a, Options{})
	for steps := 1; steps < 100_000; steps *= 2 {
		for i, e := range Effects(a, Options{Steps: steps}) {
			if e.Use != Undecided && e.Use != effects[i].Use {
				t.Fatalf("%d steps: %v is %v, but %v", steps, e.Rule, e.Use, effects[i].Use)
			}
		}
	}
	if answers["undecided"] == 0 || answers[whole.String()] == 0 {
		t.Errorf("answers %v", answers)
	}
}

// FuzzRules: the result for two files is true for every path that is tried, and a file is the
// same as itself.
func FuzzRules(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /%2A"), []byte("User-agent: *\nDisallow: /a*\nAllow: /*/./"), uint8(1), uint64(1))
	f.Add([]byte("User-agent: *\nDisallow: /*%\nAllow: /$a"), []byte("User-agent: *\nDisallow: /*%2\nAllow: /%24"), uint8(60), uint64(2))
	f.Fuzz(func(t *testing.T, one, two []byte, which uint8, seed uint64) {
		d := robots.Dialects()
		old := robots.Parse(one).Rules(d[which%8])
		new := robots.Parse(two).Rules(d[which/8%8])
		if r := Rules(old, robots.Parse(one).Rules(d[which%8]), Options{}); !r.Same() {
			t.Fatalf("a file is not the same as itself: %+v", r)
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		var texts []string
		for _, side := range []*robots.Rules{old, new} {
			for rule := range side.All() {
				texts = append(texts, "x: "+rule.Pattern().String())
			}
		}
		if len(texts) == 0 {
			texts = []string{"x: /"}
		}
		paths := samples(rng, texts, 200)
		for _, side := range [][2]*robots.Rules{{old, new}, {new, old}} {
			d := Blocked(side[0], side[1], Options{Steps: 100_000})
			if err := d.sound(side[0], side[1]); err != nil {
				t.Fatal(err)
			}
			for _, p := range paths {
				if side[0].Allowed(p) && !side[1].Allowed(p) && d.Complete && (d.None() || len(d.Changes[0].Path) > len(p.String())) {
					t.Fatalf("%+v, but %s is newly blocked", d, p)
				}
			}
		}
	})
}

// BenchmarkRules compares a typical file with itself without one rule.
func BenchmarkRules(b *testing.B) {
	lines := repeat(30, func(i int) string {
		return []string{"Disallow: /", "Disallow: /*", "Allow: /a/"}[i%3] + words("abc", 4)[10+i] + []string{"/", "?x=", ""}[i/10]
	})
	old, new := parse(robots.RFC9309, lines...), parse(robots.RFC9309, slices.Delete(slices.Clone(lines), 4, 5)...)
	b.ReportAllocs()
	for b.Loop() {
		Rules(old, new, Options{})
	}
}
