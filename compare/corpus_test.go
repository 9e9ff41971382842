package compare

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

// corpus calls fn with the rules for all crawlers, as lines, of every part-th file in the folder
// ROBOTS_CORPUS.
func corpus(t testing.TB, part int, fn func(name string, lines []string)) {
	t.Helper()
	campaign.Files(t, part, func(path string, body []byte) {
		var lines []string
		for rule := range robots.Parse(body).Rules(robots.RFC9309).All() {
			lines = append(lines, rule.Directive()+": "+rule.Path())
		}
		if len(lines) > 0 && len(lines) <= 400 {
			fn(filepath.Base(path), lines)
		}
	})
}

// change makes a typical change: it drops a rule, changes its path or its verdict, or adds a
// rule of another file.
func change(rng *rand.Rand, kind int, lines, others []string) []string {
	i := rng.IntN(len(lines))
	switch kind {
	case 0:
		return slices.Delete(slices.Clone(lines), i, i+1)
	case 1:
		lines = slices.Clone(lines)
		field, path, _ := strings.Cut(lines[i], ": ")
		at := 1 + rng.IntN(len(path))
		switch part := []string{"x", "/", "$", "*.html", "*", "a"}[rng.IntN(6)]; rng.IntN(4) {
		case 0:
			field = map[string]string{"allow": "disallow", "disallow": "allow"}[field]
		case 1:
			path += part
		case 2:
			path = path[:at]
		case 3:
			path = path[:at] + part + path[at:]
		}
		lines[i] = field + ": " + path
		return lines
	default:
		return append(slices.Clone(lines), others[rng.IntN(len(others))])
	}
}

// samples returns paths similar to those of rules.
func samples(rng *rand.Rand, lines []string, n int) []robots.Path {
	var paths []robots.Path
	for range n {
		_, path, _ := strings.Cut(lines[rng.IntN(len(lines))], ": ")
		path = strings.ReplaceAll(path, "*", []string{"", "x", "a/b", "/"}[rng.IntN(4)])
		if rng.IntN(2) == 0 {
			path = strings.TrimSuffix(path, "$")
		}
		path += []string{"", "", "x", "/", "?a=1", ".html"}[rng.IntN(6)]
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		switch rng.IntN(8) {
		case 0:
			path = strings.Replace(path, "a", "%61", 1)
		case 1:
			path += "/."
		case 2:
			path += "{"
		}
		if isTarget(path) && path != robotsTxt { // which is left out
			paths = append(paths, site(path))
		}
	}
	return paths
}

// counts has the results of one kind of comparison.
type counts struct {
	name      string
	urls      URLs
	questions int
	undecided []string
}

func (c *counts) ask(t testing.TB, rng *rand.Rand, name string, d1, d2 robots.Dialect, a, b []string) {
	old, new := parse(d1, a...), parse(d2, b...)
	for _, side := range [][2]*robots.Rules{{old, new}, {new, old}} {
		d := Blocked(side[0], side[1], Options{SkipRobotsTxt: true, URLs: c.urls})
		c.questions++
		if err := d.sound(side[0], side[1]); err != nil {
			t.Fatalf("%s: %s %q, %s %q: %v", name, d1.Name, a, d2.Name, b, err)
		}
		if !d.Complete && len(d.Changes) == 0 {
			c.undecided = append(c.undecided, name)
		}
		if !d.None() {
			continue
		}
		for _, p := range samples(rng, append(slices.Clone(a), b...), 20) {
			if (c.urls != NormalURLs || canonical(p.String())) && side[0].Allowed(p) && !side[1].Allowed(p) {
				t.Fatalf("%s: %s %q, %s %q: same, but not for %s", name, d1.Name, a, d2.Name, b, p)
			}
		}
	}
}

// TestCorpus compares real files with versions that have one change, with other files, and with
// themselves in other dialects. At most one question of a thousand is undecided.
func TestCorpus(t *testing.T) {
	rng := rand.New(rand.NewPCG(9309, 26))
	dialects := robots.Dialects()
	kinds := []counts{{name: "a rule dropped"}, {name: "a rule edited"}, {name: "a rule added"}, {name: "another dialect", urls: NormalURLs}, {name: "unrelated, over 50 rules"}}
	others, large := []string{"disallow: /a"}, [][]string(nil)
	n := 0
	corpus(t, campaign.Size(256, 32, 1), func(name string, lines []string) {
		n++
		d := dialects[n%len(dialects)]
		for i := range 3 {
			kinds[i].ask(t, rng, name, d, d, lines, change(rng, i, lines, others))
		}
		kinds[3].ask(t, rng, name, d, dialects[rng.IntN(len(dialects))], lines, lines)
		if len(lines) > 50 {
			if len(large) > 0 {
				kinds[4].ask(t, rng, name, d, d, large[rng.IntN(len(large))], lines)
			}
			large = append(large, lines)
		}
		others = lines
	})
	for _, c := range kinds {
		t.Logf("%s: %d questions, undecided %v", c.name, c.questions, c.undecided)
		if len(c.undecided) > max(c.questions/1000, 1) {
			t.Errorf("%s: %d of %d undecided", c.name, len(c.undecided), c.questions)
		}
	}
}
