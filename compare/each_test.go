package compare_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

// rulesOfAll returns the rules of * and of all crawlers that a file names.
func rulesOfAll(file *robots.File, names []string) []*robots.Rules {
	var all robots.Crawlers
	for _, name := range names {
		all.Add(robots.RFC9309, name)
	}
	return all.Rules(file)
}

// TestEachShareProofs: crawlers with equal rules share one Result, which Rules gives too.
func TestEachShareProofs(t *testing.T) {
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "User-agent: bot%c%c\nDisallow: /a\nAllow: /*b\n", 'a'+i%26, 'a'+i/26)
	}
	text.WriteString("User-agent: other\nDisallow: /c\n")
	before := robots.Parse([]byte(text.String()))
	after := robots.Parse([]byte(strings.ReplaceAll(text.String(), "/a", "/aa")))
	names := append([]string{"*"}, before.Crawlers(robots.RFC9309)...)
	old, changed := rulesOfAll(before, names), rulesOfAll(after, names)
	results, _ := compare.Each(old, changed, compare.Options{})
	distinct := map[*compare.Result]bool{}
	for i, result := range results {
		distinct[result] = true
		want := compare.Rules(old[i], changed[i], compare.Options{})
		if result.String() != want.String() || len(result.NewlyAllowed.Changes) != len(want.NewlyAllowed.Changes) {
			t.Errorf("%s: %v, want %v", names[i], result, want)
		}
	}
	if len(results) != len(names) || len(distinct) != 3 {
		t.Errorf("%d crawlers have %d results, want %d and 3", len(results), len(distinct), len(names))
	}
}

// TestEachWithoutFile: rules that only differ in what they say without a file are not equal.
func TestEachWithoutFile(t *testing.T) {
	allow := robots.AllowAll(robots.RFC9309, robots.ReasonUnavailable)
	disallow := robots.DisallowAll(robots.RFC9309, robots.ReasonUnreachable)
	rules := robots.Parse([]byte("User-agent: *\nDisallow: /\n")).Rules(robots.RFC9309)
	before := []*robots.Rules{allow, allow, rules, rules}
	after := []*robots.Rules{allow, disallow, disallow, rules.UserInitiated()}
	results, _ := compare.Each(before, after, compare.Options{})
	for i, result := range results {
		if got, want := result.String(), []string{"same", "differs", "same", "differs"}[i]; got != want {
			t.Errorf("pair %d: %s, want %s", i, got, want)
		}
	}
}

// TestEachTotal: the steps of all comparisons stay within the total, beyond which only equal
// rules are decided and, after twice the total, nothing is.
func TestEachTotal(t *testing.T) {
	const crawlers = 200
	var before, after []*robots.Rules
	for i := range crawlers {
		text := fmt.Sprintf("User-agent: *\nDisallow: /*a%d*b*c\nDisallow: /x%d\n", i, i)
		before = append(before, robots.Parse([]byte(text)).Rules(robots.RFC9309))
		after = append(after, robots.Parse([]byte(strings.ReplaceAll(text, "/x", "/y"))).Rules(robots.RFC9309))
	}
	_, unlimited := compare.Each(before, after, compare.Options{})
	total := unlimited / 4
	var words []string
	results, limited := compare.Each(before, after, compare.Options{Total: total})
	for _, result := range results {
		words = append(words, result.String())
	}
	if words[0] != "differs" || words[crawlers-1] != "undecided" || limited > 2*total {
		t.Errorf("%d steps of %d, results %v", limited, total, words)
	}
	first := slices.Index(words, "undecided")
	before[first+1], after[first+1] = before[0], before[0]
	if results, _ = compare.Each(before, after, compare.Options{Total: total}); results[first+1].String() != "same" {
		t.Errorf("equal rules after the total: %s", results[first+1])
	}

	// At twice the total exactly, equal rules are not decided either.
	two := robots.Parse([]byte("User-agent: *\nDisallow: /x\nDisallow: /y\n")).Rules(robots.RFC9309)
	equal := []*robots.Rules{two, before[0]}
	_, steps := compare.Each(equal[:1], equal[:1], compare.Options{})
	if steps == 0 || steps%2 != 0 {
		t.Fatalf("%d steps to read two rules twice", steps)
	}
	for total, want := range map[int]string{steps / 2: "undecided", steps/2 + 1: "same"} {
		if results, _ := compare.Each(equal, equal, compare.Options{Total: total}); results[1].String() != want {
			t.Errorf("after %d steps of a total of %d equal rules are %s, want %s", steps, total, results[1], want)
		}
	}
}
