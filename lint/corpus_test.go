package lint

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/internal/campaign"
)

// TestCorpus checks real files, those of the folder ROBOTS_CORPUS or some of them. Most of them
// are correct, so few may have findings above a note. Each is formatted and fixed, both twice
// with the same result, and with the same verdicts for every crawler in all dialects, in
// google-cpp also for crawlers of several tokens.
func TestCorpus(t *testing.T) {
	part := campaign.Size(300, 30, 1)
	var c counts
	total := campaign.Files(t, part, func(path string, body []byte) { c.look(t, filepath.Base(path), body) })
	t.Logf("%d files, %d of them text; without error or warning %.1f %%, but for RT502 and RT503 %.1f %%; %d undecided",
		c.files, c.text, percent(c.clean, c.text), percent(c.cleanUnproved, c.text), c.undecided)
	t.Logf("%d laid out, %d refused; %d fixed by %d safe fixes; %d questions to compare, %d of them undecided; %d unions of tokens",
		c.formatted, c.refused, c.fixed, c.fixes, c.questions, c.open, c.unions)
	if part > 30 {
		return // too few for shares
	}
	if percent(c.cleanUnproved, c.text) < 82 || percent(c.clean, c.text) < 75 {
		t.Error("82 % of text files are to have no error or warning without the proofs, and 75 % with them")
	}
	c.golden(t, fmt.Sprintf("every %d of %d files\n", part, total), filepath.Join("testdata", fmt.Sprintf("counts-%d.txt", part)))
}

// counts has the numbers of findings in real files.
type counts struct {
	files, text, clean, cleanUnproved, undecided int
	formatted, refused, fixed, fixes             int
	questions, open, unions                      int
	inFiles, findings                            map[string]int // by id
}

func (c *counts) look(t *testing.T, name string, body []byte) {
	r := File(robots.Parse(body), Options{})
	c.files++
	if c.inFiles == nil {
		c.inFiles, c.findings = map[string]int{}, map[string]int{}
	}
	seen := map[string]bool{}
	wrong, proved := 0, 0
	for _, d := range r.Diagnostics {
		c.findings[d.Check.ID]++
		if !seen[d.Check.ID] {
			seen[d.Check.ID] = true
			c.inFiles[d.Check.ID]++
		}
		if d.Severity > Note {
			wrong++
			if d.Check.proved {
				proved++
			}
		}
		if d.Fix != nil && d.Fix.Safe {
			c.fixes++
		}
	}
	if Kind(robots.Parse(body)) == "" {
		c.text++
		if wrong == 0 {
			c.clean++
		}
		if wrong == proved {
			c.cleanUnproved++
		}
	}
	if r.Undecided {
		c.undecided++
	}

	if out, err := Format(body); err != nil {
		c.refused++
	} else {
		c.formatted++
		if again, err := Format(out); err != nil || !bytes.Equal(again, out) {
			t.Errorf("%s: laid out twice it differs, %v", name, err)
		}
		c.sameVerdicts(t, name+", laid out", body, out)
	}

	fixed, _, left := ApplyFixes(body, Options{}, false)
	if bytes.Equal(fixed, body) {
		return
	}
	c.fixed++
	if again, _, _ := ApplyFixes(fixed, Options{}, false); !bytes.Equal(again, fixed) && !left.Undecided {
		t.Errorf("%s: fixed twice it differs", name)
	}
	c.sameVerdicts(t, name+", fixed", body, fixed)
	c.sameUnions(t, name+", fixed", body, fixed)
	sameGroups(t, name, body, fixed)
}

// sameVerdicts runs compare for every crawler in all dialects.
func (c *counts) sameVerdicts(t *testing.T, name string, before, after []byte) {
	if bytes.Equal(before, after) {
		return
	}
	f, g := robots.Parse(before), robots.Parse(after)
	for _, d := range robots.Dialects() {
		crawlers := map[string]bool{"*": true}
		for _, file := range []*robots.File{f, g} {
			for r := range file.Lines(d) {
				for _, n := range r.Names {
					crawlers[n] = true
				}
			}
		}
		known := map[[2]string]bool{}
		for crawler := range crawlers {
			a, b := f.Rules(d, crawler), g.Rules(d, crawler)
			texts := [2]string{textOf(a), textOf(b)}
			if texts[0] == texts[1] || known[texts] {
				continue
			}
			known[texts] = true
			c.questions++
			switch r := compare.Rules(a, b, compare.Options{}); {
			case r.Differs():
				t.Errorf("%s: %s in %s: %+v", name, crawler, d.Name, r)
			case !r.Same():
				c.open++
			}
		}
	}
}

func textOf(r *robots.Rules) string {
	var b strings.Builder
	for rule := range r.All() {
		b.WriteString(rule.String() + "\n")
	}
	return b.String()
}

// sameGroups: no group has lost its last rule or a crawler.
func sameGroups(t *testing.T, name string, before, after []byte) {
	for _, d := range robots.Dialects() {
		if a, b := groupsOf(before, d), groupsOf(after, d); !slices.Equal(a, b) {
			t.Errorf("%s in %s: the groups were %q and are %q", name, d.Name, a, b)
		}
	}
}

// groupsOf returns the crawlers of each group that has rules, each once.
func groupsOf(body []byte, d robots.Dialect) (groups []string) {
	var names []string
	group, rules := -1, false
	flush := func() {
		slices.Sort(names)
		if rules {
			groups = append(groups, fmt.Sprint(slices.Compact(names)))
		}
		names, rules = nil, false
	}
	for r := range robots.Parse(body).Lines(d) {
		if r.Group >= 0 && r.Group != group {
			if group >= 0 {
				flush()
			}
			group = r.Group
		}
		names = append(names, r.Names...)
		rules = rules || isRule(r.Field)
	}
	flush()
	return groups
}

// golden compares the counts with those of a reviewed run. They apply to one folder; for another
// number of files they are only printed.
func (c *counts) golden(t *testing.T, about, name string) {
	text := about
	for i := range Checks {
		id := Checks[i].ID
		text += fmt.Sprintf("%s %-20s %-8s %5d files %6d findings\n", id, Checks[i].Name, Checks[i].Severity, c.inFiles[id], c.findings[id])
	}
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case !strings.HasPrefix(string(want), about):
		t.Logf("another folder than that of %s:\n%s", name, text)
	case text != string(want):
		t.Errorf("the counts are not those of %s:\n%s", name, text)
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
