package answer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

// diffTexts compares two files for * and all crawlers that they name.
func diffTexts(before, after string) *Difference {
	old, changed := robots.Parse([]byte(before)), robots.Parse([]byte(after))
	var who []Crawler
	for _, name := range append([]string{AnyCrawler}, old.Crawlers(robots.RFC9309)...) {
		who = append(who, Crawler{Name: name, Tokens: []string{name}, Dialect: robots.RFC9309})
	}
	return Diff(old, changed, who, DiffOptions{})
}

// TestDiffSharesComparisons: crawlers with equal rules cost one comparison.
func TestDiffSharesComparisons(t *testing.T) {
	var old strings.Builder
	for i := range 500 {
		fmt.Fprintf(&old, "User-agent: bot%c%c\nDisallow: /a\nAllow: /*b\n", 'a'+i%26, 'a'+i/26)
	}
	d := diffTexts(old.String(), strings.ReplaceAll(old.String(), "/a", "/aa"))
	if len(d.Crawlers) != 501 || len(d.comparisons) != 2 {
		t.Errorf("%d crawlers took %d comparisons, want 501 and 2", len(d.Crawlers), len(d.comparisons))
	}
}

// TestDiffReadsOnce: the files are read once for all crawlers, also if they name none.
func TestDiffReadsOnce(t *testing.T) {
	file := robots.Parse([]byte(strings.Repeat("\n", 100_000)))
	steps := func(crawlers int) int {
		var who []Crawler
		for i := range crawlers {
			who = append(who, InDialect(robots.RFC9309, fmt.Sprintf("bot%d", i), fmt.Sprintf("bot%d", i)))
		}
		return Diff(file, file, who, DiffOptions{}).Steps
	}
	if one, many := steps(1), steps(100); one < 100_000 || many > one+100*100 {
		t.Errorf("%d steps for one crawler, %d for a hundred", one, many)
	}
}

// TestDiffOtherStars: crawlers that no file names are compared in their dialects too, and listed
// where these show another change.
func TestDiffOtherStars(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"Disallow: /a\n", "Disallow: /a\nDisalow: /\n", "* rfc9309 same, * google differs"},
		{"Disallow: /a\n", "Disallow: /b\nDisalow: /b\n", "* rfc9309 differs"},
		{"Disallow: /a\n", "Disallow: /b\nDisalow: /c\n", "* rfc9309 differs, * google differs"},
		{"Disalow: /a\n", "Disalow: /a\nDisallow: /b\n", "* rfc9309 differs"},
		{"Disallow: /*a\n", "Disallow: /*b\n", "* rfc9309 differs"},
		{"Disallow: /%61\nDisallow: /b\n", "Disallow: /c\n", "* rfc9309 differs"}, // google has fewer changes
		{"Disallow: /*a\n", "Disallow: /*a\n# b\n", "* rfc9309 same"},
		{"Disallow: /%61\n", "Disallow: /a\n", "* rfc9309 same, * google differs"},
		{"Disallow:\nDisallow: /a\n", "Disallow: /a\n", "* rfc9309 same"},
		{"Disallow: /a\n", "Disallow:\n", "* rfc9309 differs"}, // yandex has the same changes, by a rule
		{"Disallow:\n", "Disallow: /a\n", "* rfc9309 differs"},
		{"Disallow: /a\n", "Disallow: /a\nAllow: /a/b\nAllow /a/c\n", "* rfc9309 differs, * google differs"},
	} {
		const star = "User-agent: *\n"
		before, after := robots.Parse([]byte(star+c.before)), robots.Parse([]byte(star+c.after))
		var got []string
		for _, j := range DiffIn(before, after, [2]robots.Dialect{}, nil, DiffOptions{}).Crawlers {
			got = append(got, j.Agent+" "+j.Dialect+" "+j.Result)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%q, %q: %s, want %s", c.before, c.after, strings.Join(got, ", "), c.want)
		}
	}
}

// TestDiffSharesGroups: crawlers that each file names in the same user-agent lines are compared
// once, and only those just above a delay have it (D-08).
func TestDiffSharesGroups(t *testing.T) {
	var body strings.Builder
	for i := range 500 {
		fmt.Fprintf(&body, "User-agent: bot%c%c\n", 'a'+i%26, 'a'+i/26)
	}
	body.WriteString("# both files\nUser-agent: early\nCrawl-delay: 1\nUser-agent: late\nDisallow: /a\n")
	d := diffTexts(body.String(), strings.ReplaceAll(body.String(), ": 1", ": 2"))
	for _, c := range d.Crawlers {
		if delayed := c.Agent != AnyCrawler && c.Agent != "late"; (len(c.Declared) == 1) != delayed {
			t.Errorf("%s: %d changes of delays", c.Agent, len(c.Declared))
		}
	}
	if len(d.Crawlers) != 503 || len(d.Declared) != 1 || len(d.Declared[0].Crawlers) != 501 {
		t.Errorf("%d crawlers, declarations %v", len(d.Crawlers), d.Declared)
	}
}

// TestDiffLimits: changes beyond the limit are counted, and the lines are those of the
// crawler's own rules.
func TestDiffLimits(t *testing.T) {
	old := robots.Parse([]byte("User-agent: a\nUser-agent: b\nDisallow: /x\n"))
	changed := robots.Parse([]byte("User-agent: a\nDisallow: /1\nDisallow: /2\nDisallow: /3\nUser-agent: b\nDisallow: /1\nDisallow: /2\nDisallow: /3\n"))
	who := []Crawler{{Name: "A", Tokens: []string{"a"}, Dialect: robots.RFC9309}, {Name: "B", Tokens: []string{"b"}, Dialect: robots.RFC9309}}
	d := Diff(old, changed, who, DiffOptions{Changes: 2})
	for i, line := range []int{2, 6} {
		c := d.Crawlers[i]
		if len(c.NewlyBlocked) != 2 || len(c.NewlyAllowed) != 1 || c.Dropped != 1 || c.NewlyBlocked[0].New.Rule.Line != line {
			t.Errorf("%s: %+v", c.Agent, c)
		}
	}
	if groups := d.Groups(); len(groups) != 1 || len(groups[0].Blocked.Changes) != 3 || !groups[0].Elsewhere {
		t.Errorf("groups %+v", groups)
	}
}

var _ Source = (*robots.File)(nil)

// TestDiffTotal: what exceeds the total is undecided.
func TestDiffTotal(t *testing.T) {
	var old strings.Builder
	for i := range 100 {
		fmt.Fprintf(&old, "User-agent: bot%c%c\nDisallow: /*a%d*b\n", 'a'+i%26, 'a'+i/26, i)
	}
	before, after := robots.Parse([]byte(old.String())), robots.Parse([]byte(strings.ReplaceAll(old.String(), "*b", "*c")))
	var who []Crawler
	for _, name := range before.Crawlers(robots.RFC9309) {
		who = append(who, Crawler{Name: name, Tokens: []string{name}, Dialect: robots.RFC9309})
	}
	all := Diff(before, after, who, DiffOptions{})
	steps := 0
	for _, c := range all.Crawlers {
		steps += c.Steps
	}
	limited := Diff(before, after, who, DiffOptions{Total: steps / 2, Steps: compare.DefaultSteps})
	if first, last := limited.Crawlers[0], limited.Crawlers[len(who)-1]; first.Result != "differs" || last.Result != "undecided" || last.Complete {
		t.Errorf("first %s, last %s", first.Result, last.Result)
	}
}

// TestDiffGroups: a file is not read again for each of its groups if none has a field other than rules.
func TestDiffGroups(t *testing.T) {
	steps := func(groups int) int {
		var text strings.Builder
		for i := range groups {
			fmt.Fprintf(&text, "User-agent: bot%d\nAllow: /%d\n\n", i, i)
		}
		before := robots.Parse([]byte("Sitemap: https://a.example/\n" + text.String()))
		after := robots.Parse([]byte(text.String()))
		d := Diff(before, after, Comparable(before, after, [2]robots.Dialect{robots.RFC9309, robots.RFC9309}), DiffOptions{})
		if len(d.Declared) != 1 || len(d.Declared[0].Old) != 1 {
			t.Fatalf("%d groups: declared %+v", groups, d.Declared)
		}
		return d.Steps
	}
	few := steps(200)
	if many := steps(800); many > 5*few {
		t.Errorf("%d steps for 200 groups, %d for 800", few, many)
	}
}
